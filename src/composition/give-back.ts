import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Gives back the memory that the process no longer needs: V8 keeps the room that a burst of work took, for the next one. Everything waits
 * for a fifth of a second or two while it looks, so it is for moments in which nothing is urgent.
 */
export function giveBackMemory(): void {
  // The one way to V8's own that an embedder uses when the system is short of memory; without it collections give little back.
  setFlagsFromString('--expose-gc');
  const collect: (how: { type: 'major'; flavor: 'last-resort' }) => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', flavor: 'last-resort' });
}
