import { seededRandom } from '../../../sandbox/kit/random.ts';
import { type Draw, drawFrom, type Fault, type Given } from '../faults/fault.ts';
import { FAULTS } from '../faults/index.ts';
import type { RedisKind } from '../world/world.ts';

/** One thing that goes wrong, with the work that people do meanwhile. */
export interface Step {
  fault: string;
  given: Given;
  /** Seed of the work at the clinics. */
  work: number;
  pieces: number;
  /** The next step comes after so many awaits of the daemons. */
  awaits: number;
}

/** What happens in one run. Nothing but its seed decides it. */
export interface Script {
  seed: number;
  daemons: number;
  shortTokens: boolean;
  /** Pages are tiny and the budget of requests is just enough for the tenants together. */
  scarce: boolean;
  /** The first sync ends before anything goes wrong. */
  warm: boolean;
  steps: readonly Step[];
}

/** Faults and settings that scripts are drawn from. */
export interface Choice {
  faults: ReadonlyMap<string, Fault>;
  steps: { least: number; most: number };
}

const STEPS = { least: 4, most: 8 };
/** With several servers, a failover is drawn this many times as often as another fault. */
const FAILOVERS = 10;
const WORK_SEEDS = 1_000_000;

/**
 * All faults that can be played with a Redis, or of these those of the named groups and names.
 * @throws RangeError for a name that is neither
 */
export function choiceOf(only: readonly string[], redis: RedisKind = 'one'): Choice {
  const playable = redis === 'one' ? FAULTS : ofSeveral();
  if (only.length === 0) return { faults: playable, steps: STEPS };
  const unknown = only.find(
    (name) => !playable.has(name) && ![...playable.values()].some(({ group }) => group === name),
  );
  if (unknown !== undefined) throw new RangeError(unknown);
  const faults = [...playable].filter(([name, { group }]) => only.includes(name) || only.includes(group));
  return { faults: new Map(faults), steps: STEPS };
}

/** Raises the rate of master failures, which are the purpose of several servers. */
function ofSeveral(): ReadonlyMap<string, Fault> {
  const playable = [...FAULTS].filter(([, { isOfLoneRedis }]) => isOfLoneRedis !== true);
  return new Map(
    playable.map(([name, each]) => [name, name === 'redis-failover' ? { ...each, weight: FAILOVERS } : each]),
  );
}

/** The script of a seed. */
export function scriptOf(seed: number, { faults, steps }: Choice): Script {
  const draw = drawFrom(seededRandom(seed));
  const count = draw.between(steps.least, steps.most);
  return {
    seed,
    daemons: draw.pick([1, 2, 2, 3, 4]),
    shortTokens: draw.chance(0.3),
    scarce: draw.chance(0.1),
    warm: draw.chance(0.7),
    steps: Array.from({ length: count }, () => stepOf(draw, faults)),
  };
}

function stepOf(draw: Draw, faults: Choice['faults']): Step {
  const name = draw.pick([...faults].flatMap(([each, { weight = 1 }]) => Array<string>(weight).fill(each)));
  return {
    fault: name,
    given: faults.get(name)?.draw(draw) ?? {},
    work: draw.upTo(WORK_SEEDS),
    pieces: draw.between(1, 6),
    awaits: draw.between(15, 150),
  };
}

/** Renders a script as text, one step a line. */
export function describeScript({ seed, daemons, shortTokens, scarce, warm, steps }: Script): string {
  const world = [
    `${daemons} daemons`,
    ...(shortTokens ? ['short tokens'] : []),
    ...(scarce ? ['scarce requests'] : []),
    warm ? 'after a sync' : 'from nothing',
  ];
  const lines = steps.map(({ fault, given, work, pieces, awaits }) => {
    const how = Object.entries(given).map(([name, value]) => `${name}=${value}`);
    return `  ${fault} ${[...how, `work=${work}×${pieces}`, `awaits=${awaits}`].join(' ')}`;
  });
  return [`seed ${seed}: ${world.join(', ')}`, ...lines].join('\n');
}
