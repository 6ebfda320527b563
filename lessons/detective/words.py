"""Names for what has to have one, none of which says what it is for."""

LOCALS = """
acorn alder amber anvil apple arrow aspen badge bamboo barley basil basin beach beaver bell berry birch
bison bloom bonnet border bottle branch brass bridge brook broom brush bucket burrow button cabin
cactus candle canoe canyon cape caramel carpet carrot castle cedar cellar chalk cherry chess chime cider
cinder clay cliff clover cobalt cocoa comet copper coral cotton cove crane crater cricket crown crumb
curl daisy dawn delta desk dome dragon drum dune eagle easel echo ember engine falcon feather fennel
fern fiddle finch flame flint flute fog forest fossil fox garden garlic ginger glacier glove granite
grape gravel guitar gull hammer harbor hazel hedge heron hill honey horn hut iris island ivory ivy jade
jar jasmine juniper kettle kite ladder lagoon lamp lantern larch laurel lemon lentil lichen lilac lily
linen lobby lotus lynx magnet mango maple marble marsh meadow melon mint mirror mitten moose mosaic moss
moth nectar nest nettle nickel nutmeg oak oasis olive onion opal orbit orchid otter owl oyster paddle
palm paper parsley pearl pebble pepper petal piano pigeon pillow pine plaza plum pocket pollen pond
poplar poppy prism pumice quartz quill rabbit radish raft raven reef ribbon river robin rocket rose
ruby sable saffron sage sail salmon sand sapphire satin shell silk slate sleet sofa spark sparrow spice
spruce stone storm straw sugar summit swan tango teal temple thistle thyme tiger timber topaz torch
tower trout tulip tundra turnip valley vapor velvet violet walnut willow winter wolf wool zebra zinc
""".split()

FUNCTIONS = """
arrange balance bundle collect combine compose convert deliver develop dispatch distill examine extend
finish follow handle harvest improve inspect invite listen measure observe operate prepare proceed
process produce provide qualify reach receive refine reflect relate render resolve respond restore
resume return_to settle shape smooth supply survey transform travel treat update weave wander whisper
""".split()
