import { setFlagsFromString } from 'node:v8';

/** How much more than it holds the heap may grow to before it is collected again, in percent. */
const SLACK_PERCENT = 25;

/**
 * Has the heap collected before it holds much more than what is in use. By itself V8 lets it grow up to fourfold where the machine has
 * memory, and a first sync of a large clinic takes all of that.
 */
export function keepHeapTight(): void {
  setFlagsFromString(`--heap-growing-percent=${SLACK_PERCENT}`);
}
