import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MODULE = fileURLToPath(new URL('../../src/composition/give-back.ts', import.meta.url));
const MEBIBYTE = 1_048_576;

/** A process that has used much memory and needs little, before and after it gave back: room of its heap in MiB, and what else it says. */
const SCRIPT = `
  import { giveBackMemory } from ${JSON.stringify(MODULE)};
  let much = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'text ' + index }));
  const kept = much.slice(0, 10);
  much = null;
  const room = () => process.memoryUsage().heapTotal / ${MEBIBYTE};
  const before = room();
  giveBackMemory();
  const [after, isExposed] = [room(), typeof globalThis.gc];
  console.log(JSON.stringify({ before, after, isExposed, kept: kept.at(-1).text }));
`;

test('what a burst of work took is given back, and what is needed stays', () => {
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', SCRIPT], { encoding: 'utf8' });
  const { before, after, isExposed, kept } = JSON.parse(told);
  expect(before).toBeGreaterThan(30);
  expect(after).toBeLessThan(15);
  expect({ isExposed, kept }).toEqual({ isExposed: 'undefined', kept: 'text 9' });
});
