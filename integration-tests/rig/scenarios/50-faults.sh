# time limit: 240 s
# lane: cable
# devices: rxe1 rxe2
# A port that goes down, a cable pulled while reading, a refused access.
junit rxe1,rxe2 --select-class io.farpage.verbs.ibverbs.DeviceFaultTest
