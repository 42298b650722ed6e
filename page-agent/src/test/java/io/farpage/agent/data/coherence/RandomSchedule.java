package io.farpage.agent.data.coherence;

import io.farpage.agent.data.coherence.CoherentWorld.Event;
import io.farpage.agent.data.coherence.CoherentWorld.Node;
import io.farpage.agent.data.coherence.CoherentWorld.Setup;
import io.farpage.agent.data.coherence.CoherentWorld.SimulatedHome;
import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import java.util.Random;

/** What happens in a world, by chance. */
final class RandomSchedule {
    private final CoherentWorld world;
    private final Setup setup;
    private final Random random;
    private boolean calm;

    RandomSchedule(CoherentWorld world, Random random) {
        this.world = world;
        this.random = random;
        setup = world.setup;
    }

    /** Runs some steps, and then without disturbances until all threads are done. */
    void run(int steps) {
        for (int i = 0; i < steps; i++) {
            step();
            world.check();
        }
        calm = true;
        calmDown();
        for (int i = 0; i < 20_000 && !isDone(); i++) {
            world.now += 100_000;
            for (Node node : world.nodes) {
                for (int home = 0; home < setup.places(); home++) {
                    world.deliver(node, home, true);
                    world.deliver(node, home, false);
                    world.deliverMirror(home);
                }
                world.cycle(node);
                node.process.workers.forEach(worker -> runThread(node, worker));
            }
            world.homes.forEach(SimulatedHome::send);
            world.succeedEnded();
            world.check();
        }
        if (!isDone()) {
            throw new AssertionError("threads wait for ever: " + world.describe());
        }
    }

    /** Everything is connected, and knows what there is to know. */
    private void calmDown() {
        for (Node node : world.nodes) {
            node.process.isShort = false;
            node.callsLeft = 0;
            node.follow();
            for (int home = 0; home < setup.places(); home++) {
                node.cutOff(home);
            }
            node.adopt();
            for (int home = 0; home < setup.places(); home++) {
                if (node.toHome[home] == null) {
                    node.connect(home);
                }
            }
        }
        world.homes.stream().filter(SimulatedHome::isDropped).forEach(home -> home.follow(false));
        for (int extent = 0; extent < setup.homes(); extent++) {
            if (world.mirrors[extent] == null) {
                world.connectMirror(extent);
            }
        }
    }

    private boolean isDone() {
        return world.nodes.stream()
                .allMatch(node -> !node.ending
                        && node.process.workers.stream().allMatch(worker -> worker.isIdle() || !node.process.alive));
    }

    private void step() {
        Node node = world.nodes.get(random.nextInt(world.nodes.size()));
        int home = random.nextInt(setup.places());
        int what = random.nextInt(1000);
        if (node.isDown && random.nextInt(20) == 0) {
            node.cutOff(home);
            node.adopt();
        }
        if (setup.has(Event.DROPS) && random.nextInt(4) == 0) {
            dropStep(node, home);
        } else if (what < 350) {
            world.deliver(node, home, random.nextBoolean());
        } else if (what < 550) {
            world.cycle(node);
        } else if (what < 700) {
            world.homes.get(home).send();
        } else if (what < 960) {
            runThread(node, node.process.workers.get(random.nextInt(setup.threads())));
        } else if (what < 975) {
            world.now += random.nextLong(3_000_000);
        } else if (what < 978) {
            node.process.isShort = !node.process.isShort;
        } else {
            failure(node, home, what);
        }
        world.succeedEnded();
    }

    private void failure(Node node, int home, int what) {
        if (what < 984) {
            if (setup.has(Event.BREAKS)) {
                world.note("channel of " + node.name + " and home " + home);
                if (node.toHome[home] != null) {
                    node.disconnect(home);
                } else if (!node.isDown) {
                    node.connect(home);
                }
            }
        } else if (what < 985) {
            if (setup.has(Event.RESTARTS)) {
                world.restart(home);
            }
        } else if (what < 987) {
            if (setup.has(Event.LEAVES)) {
                world.leave(node);
            }
        } else if (what < 988) {
            if (setup.has(Event.KILLS) && random.nextInt(4) == 0) {
                world.kill(node);
            }
        } else if (setup.has(Event.ADOPTS)) {
            adoptions(node, home, what);
        }
    }

    private void dropStep(Node node, int home) {
        int what = random.nextInt(1000);
        if (what < 900) {
            world.deliverMirror(home);
        } else if (what < 970) {
            learnOfDrops(node, home);
        } else if (what < 990) {
            if (world.mirrors[home] != null) {
                world.disconnectMirror(home % setup.homes());
            } else {
                world.connectMirror(home % setup.homes());
            }
        } else if (what < 993) {
            world.drop(home % setup.homes());
        }
    }

    private void learnOfDrops(Node node, int home) {
        if (random.nextInt(4) == 0) {
            node.follow();
        }
        SimulatedHome one = world.homes.get(home);
        if (one.isDropped() && random.nextInt(4) == 0) {
            one.follow(false);
        }
    }

    private void adoptions(Node node, int home, int what) {
        if (what < 992) {
            node.callsLeft = 1 + random.nextInt(20);
        } else if (what < 993) {
            node.run(node::die);
        }
        if (!node.isDown && node.toHome[home] == null && !setup.has(Event.BREAKS)) {
            node.connect(home);
        }
    }

    private void runThread(Node node, Worker worker) {
        if (worker.waits || !node.process.alive) {
            return;
        }
        if (worker.isIdle()) {
            if (calm) {
                return;
            }
            boolean goesOn = setup.window() > 1 && random.nextInt(3) != 0;
            int page = goesOn ? (worker.last + 1) % setup.pages() : random.nextInt(setup.pages());
            world.begin(worker, page, random.nextBoolean());
        }
        node.process.run(worker);
    }
}
