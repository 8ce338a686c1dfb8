import type { Scene } from '../run/scene.ts';

/** What a fault was drawn with; plain values, so that a script can be printed and read. */
export type Given = Readonly<Record<string, number | boolean | string>>;

/** A fault at work. */
export interface Ceasing {
  /** Settles when the fault has struck, which may be never; the script continues after a while. */
  struck?: Promise<unknown>;
  /** Settles when the fault is over; the script always waits for it. */
  lasts?: Promise<unknown>;
  /** Ends it. Called once. */
  cease?(): void | Promise<void>;
}

/** A kind of fault. */
export interface Fault {
  /** Group name for `--only`, in addition to the fault's own name. */
  group: Group;
  /** How often it is drawn, against the others. Default 1. */
  weight?: number;
  /** Requires a single server, which daemons reach through their gates. */
  isOfLoneRedis?: boolean;
  /** Chooses how it comes; nothing but the numbers decides. */
  draw(draw: Draw): Given;
  play(scene: Scene, given: Given): Promise<Ceasing>;
}

/** Kinds of faults. */
export const GROUPS = [
  'kills',
  'wire',
  'redis',
  'tokens',
  'lies',
  'hands',
  'marks',
  'config',
  'records',
  'clock',
] as const;

/** One of {@link GROUPS}. */
export type Group = (typeof GROUPS)[number];

/** A fault with what it is drawn with, known to the compiler. */
export function fault<Drawn extends Given>(one: {
  group: Group;
  weight?: number;
  isOfLoneRedis?: boolean;
  draw(draw: Draw): Drawn;
  play(scene: Scene, given: Drawn): Promise<Ceasing>;
}): Fault {
  // A script holds only what `draw` of the same fault gave.
  return { ...one, play: (scene, given) => one.play(scene, given as Drawn) };
}

/** Choices by numbers. */
export interface Draw {
  random(): number;
  /** 0 to `limit` - 1. */
  upTo(limit: number): number;
  between(least: number, most: number): number;
  chance(share: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
}

/** @param random numbers in [0, 1) */
export function drawFrom(random: () => number): Draw {
  const upTo = (limit: number) => Math.floor(random() * limit);
  return {
    random,
    upTo,
    between: (least, most) => least + upTo(most - least + 1),
    chance: (share) => random() < share,
    pick: (values) => values[upTo(values.length)] as (typeof values)[number],
  };
}
