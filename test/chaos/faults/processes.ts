import type { Scene } from '../run/scene.ts';
import type { Await } from '../world/gates.ts';
import type { DaemonPlace } from '../world/processes.ts';
import { type Fault, fault } from './fault.ts';
import { drawMoment, momentOf } from './moments.ts';

/** From waking up to the first await. */
const THAWING_MS = 300;
/** A lease expires or nearly expires meanwhile. */
const FROZEN_MS = [300, 1_200, 2_300, 3_500] as const;
const CLOCK_JUMPS_S = [-600, -61, 45, 130, 3_700, 90_000] as const;

/** Returns the daemon that waits there; if unknown, the first running one. */
export function placeOf({ world }: Scene, at: Await): DaemonPlace | undefined {
  const pid = at.pid();
  return world.daemons.find((daemon) => daemon.pid() === pid) ?? world.daemons.find((daemon) => daemon.isAlive());
}

/** What happens to the daemons themselves. */
export const PROCESS_FAULTS: Readonly<Record<string, Fault>> = {
  kill: fault({
    group: 'kills',
    weight: 4,
    draw: (draw) => drawMoment(draw),
    async play(scene, given) {
      const snare = scene.world.hub.lay({
        moment: momentOf(given),
        times: 1,
        async strike(at) {
          scene.count('kill', at.name);
          await placeOf(scene, at)?.kill();
        },
        fault: { kind: 'cut' },
      });
      return { struck: snare.spent, cease: snare.lift };
    },
  }),
  freeze: fault({
    group: 'kills',
    weight: 2,
    draw: (draw) => ({ ...drawMoment(draw), ms: draw.pick(FROZEN_MS) }),
    async play(scene, given) {
      const thawed = Promise.withResolvers<void>();
      const snare = scene.world.hub.lay({
        moment: momentOf(given),
        times: 1,
        strike(at) {
          scene.count('freeze', at.name);
          const place = placeOf(scene, at);
          place?.freeze();
          scene.world.hub.expect(given.ms + THAWING_MS);
          setTimeout(() => thawed.resolve(place?.thaw()), given.ms);
        },
      });
      return { struck: thawed.promise, cease: snare.lift };
    },
  }),
  'kill-any': fault({
    group: 'kills',
    draw: (draw) => ({ daemon: draw.upTo(4), afterMs: draw.upTo(700) }),
    async play(scene, { daemon, afterMs }) {
      const { daemons } = scene.world;
      const struck = scene.after(afterMs, async () => {
        const place = daemons[daemon % daemons.length];
        if (place?.isAlive() === true) scene.count('kill-any');
        await place?.kill();
      });
      return { lasts: struck };
    },
  }),
  pause: fault({
    group: 'kills',
    draw: () => ({ ms: 0 }),
    // Pauses the faults, so that effects of earlier ones can appear.
    async play(scene, { ms }) {
      await scene.after(ms, () => {});
      return { lasts: scene.quiet() };
    },
  }),
  stop: fault({
    group: 'kills',
    draw: (draw) => ({ daemon: draw.upTo(4), afterMs: draw.upTo(900) }),
    async play(scene, { daemon, afterMs }) {
      const { daemons } = scene.world;
      const struck = scene.after(afterMs, async () => {
        const place = daemons[daemon % daemons.length];
        if (place?.isAlive() === true) scene.count('stop');
        await place?.stop();
      });
      return { lasts: struck };
    },
  }),
  clock: fault({
    group: 'clock',
    draw: (draw) => ({ daemon: draw.upTo(4), seconds: draw.pick(CLOCK_JUMPS_S), all: draw.chance(0.3) }),
    async play(scene, { daemon, seconds, all }) {
      const { daemons } = scene.world;
      const touched = all ? daemons : [daemons[daemon % daemons.length] as DaemonPlace];
      scene.count('clock');
      scene.doubt('clock');
      for (const place of touched) place.setClock(seconds * 1_000);
      return {
        cease() {
          for (const place of touched) place.setClock(0);
        },
      };
    },
  }),
};
