/** A parser of external input. */
export interface Parser {
  /** Name for `--only`. */
  name: string;
  /** Inputs that it understands, from which others are made. */
  seeds: readonly string[];
  /** Words and signs of its grammar, put in anywhere. */
  words: readonly string[];
  /** Opening and closing tokens, for nesting. */
  pairs: readonly (readonly [opening: string, closing: string])[];
  /** Maximum input length, if different from the usual 256 KiB: one token is repeated up to this length. */
  longestBytes?: number;
  /** Parses an input. May throw only a MirrorError. */
  read(input: Buffer): unknown;
}
