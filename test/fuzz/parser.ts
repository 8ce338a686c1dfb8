/** Something that reads what others wrote. */
export interface Parser {
  /** As `--only` names it. */
  name: string;
  /** Inputs that it understands, from which others are made. */
  seeds: readonly string[];
  /** Words and signs of its grammar, put in anywhere. */
  words: readonly string[];
  /** What opens and closes, for nesting. */
  pairs: readonly (readonly [opening: string, closing: string])[];
  /** Longest input that reaches it, where that is more than the 256 KiB of the others: one token is repeated up to there. */
  longestBytes?: number;
  /** Reads an input. What it may throw is a MirrorError alone. */
  read(input: Buffer): unknown;
}
