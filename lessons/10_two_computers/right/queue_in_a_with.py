"""The stream is in an object of its own class, used by `with`; at its end the host waits for an event."""

import numpy
from numba import cuda, float32

from kernels.image_ops import grayscale
from kernels.launch import blocks_for, on_gpu
from kernels.transfers.host_code import BLOCK

f32 = numpy.float32


class Warteschlange:
    def __init__(selbst):
        selbst.strom = cuda.stream()
        selbst.behalten = []

    def __enter__(selbst):
        return selbst

    def __exit__(selbst, *fehler):
        ende = cuda.event()
        ende.record(selbst.strom)
        ende.synchronize()
        return False

    def hin(selbst, feld):
        selbst.behalten.append(cuda.to_device(feld, stream=selbst.strom))
        return selbst.behalten[-1]

    def platz(selbst, größe):
        selbst.behalten.append(cuda.device_array(größe, f32, stream=selbst.strom))
        return selbst.behalten[-1]

    def zurück(selbst, feld):
        ziel = cuda.pinned_array(feld.shape, f32)
        feld.copy_to_host(ziel, stream=selbst.strom)
        return ziel


def blocks_to_cover(size, block):
    if len(size) == 2:
        (x, y), (bx, by) = size, block
        return blocks_for(x, bx), blocks_for(y, by)
    (x, y, z), (bx, by, bz) = size, block
    return blocks_for(x, bx), blocks_for(y, by), blocks_for(z, bz)


def blöcke(feld):
    höhe, breite = feld.shape
    return blocks_to_cover((breite, höhe), BLOCK)


def shrink_on_cpu(image, factor):
    höhe, breite = image.shape[0] // factor, image.shape[1] // factor
    klein = numpy.full((höhe, breite), numpy.nan, f32)
    for zeile in reversed(range(höhe)):
        for spalte in reversed(range(breite)):
            summe = f32(0)
            for i in range(factor * factor - 1, -1, -1):
                summe += image[zeile * factor + i // factor, spalte * factor + i % factor]
            klein[zeile, spalte] = summe / f32(factor * factor)
    return klein


@cuda.jit
def shrink(image, small, factor):
    spalte = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    zeile = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if zeile < small.shape[0] and spalte < small.shape[1]:
        summe = float32(0)
        for i in range(factor * factor - 1, -1, -1):
            summe += image[zeile * factor + i // factor, spalte * factor + i % factor]
        small[zeile, spalte] = summe / float32(factor * factor)


def launch_shrink(image, small, factor, block, launch=on_gpu):
    height, width = small.shape
    launch(shrink, blocks_to_cover((width, height), block), block, image, small, factor)


@cuda.jit
def tint(image, gains, tinted):
    farbe = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    spalte = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    zeile = cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z
    innen = farbe < tinted.shape[2] and spalte < tinted.shape[1] and zeile < tinted.shape[0]
    if innen:
        tinted[zeile, spalte, farbe] = min(image[zeile, spalte, farbe] * gains[farbe], float32(1))


def launch_tint(image, gains, tinted, launch=on_gpu):
    höhe, breite, farben = tinted.shape
    block = (farben, 64, 1) if farben <= 16 else (64, 4, 1)
    launch(tint, blocks_to_cover((farben, breite, höhe), block), block, image, gains, tinted)


def shrink_on_gpu(image, factor):
    with Warteschlange() as schlange:
        groß = schlange.hin(image)
        klein = schlange.platz((image.shape[0] // factor, image.shape[1] // factor))
        shrink[blöcke(klein), BLOCK, schlange.strom](groß, klein, factor)
        fertig = schlange.zurück(klein)
    return fertig


def gray_in_a_queue(photos):
    bilder = []
    with Warteschlange() as schlange:
        for foto in photos:
            bunt = schlange.hin(foto)
            grau = schlange.platz(foto.shape[:2])
            grayscale[blöcke(grau), BLOCK, schlange.strom](bunt, grau)
            bilder += [schlange.zurück(grau)]
    return bilder


def gray_half_quarter(photo):
    höhe, breite = photo.shape[:2]
    nebenan, fertig_daneben, grau_da = cuda.stream(), cuda.event(), cuda.event()
    with Warteschlange() as haupt:
        bunt = haupt.hin(photo)
        grau = haupt.platz((höhe, breite))
        halb = haupt.platz((höhe // 2, breite // 2))
        viertel = haupt.platz((höhe // 4, breite // 4))
        viertel_hier = cuda.pinned_array(viertel.shape, f32)
        grayscale[blöcke(grau), BLOCK, haupt.strom](bunt, grau)
        grau_da.record(haupt.strom)

        grau_da.wait(nebenan)
        shrink[blöcke(viertel), BLOCK, nebenan](grau, viertel, 4)
        viertel.copy_to_host(viertel_hier, stream=nebenan)
        fertig_daneben.record(nebenan)

        shrink[blöcke(halb), BLOCK, haupt.strom](grau, halb, 2)
        halb_hier = haupt.zurück(halb)
        grau_hier = haupt.zurück(grau)
        fertig_daneben.wait(haupt.strom)
    return grau_hier, halb_hier, viertel_hier


def timed_shrink(image, factor, launches):
    anfang, ende = cuda.event(), cuda.event()
    with Warteschlange() as schlange:
        groß = schlange.hin(image)
        klein = schlange.platz((image.shape[0] // factor, image.shape[1] // factor))
        start = shrink[blöcke(klein), BLOCK, schlange.strom]
        start(groß, klein, factor)
        anfang.record(stream=schlange.strom)
        noch = launches
        while noch > 0:
            start(groß, klein, factor)
            noch -= 1
        ende.record(stream=schlange.strom)
        fertig = schlange.zurück(klein)
    return fertig, cuda.event_elapsed_time(anfang, ende) / launches
