/** Writes docs/redis-keys.md: what stands against whoever writes into Redis, key by key, from the program itself. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY_SEALS } from '../src/state/key-seals.ts';

const FILE = join(import.meta.dirname, '../docs/redis-keys.md');

const HEAD = `# What stands in Redis, key by key

Written by \`npm run generate\` from \`src/state/key-seals.ts\`. Keys are named as in \`src/state/keys.ts\`, which says what each holds and how long. *Held*: what refuses the value, which is then told
(\`record-forged\`) or counts as absent. *Nothing need*: it decides of no content and of no effect outside. *Left*: what whoever writes it reaches all the same; so
Redis is for the daemon alone ([how](redis.md#who-may-ask-it)). Tests stand below \`test/\`.

| key | another value | a value of before | test |
|---|---|---|---|`;

/** The document as it should be, by its file name. */
export function keysDocument(): [string, string] {
  const rows = Object.entries(KEY_SEALS).map(
    ([name, { change, rollback, test }]) =>
      `| \`${name}\` | ${textOf(change)} | ${textOf(rollback)} | ${test === null ? '' : `\`${test}\``} |`,
  );
  return [FILE, `${[HEAD, ...rows].join('\n')}\n`];
}

const LABELS: Readonly<Record<string, string>> = { held: 'held', free: 'nothing need', left: 'left' };

function textOf(stand: object): string {
  const [[label = '', text = ''] = []] = Object.entries(stand);
  return `**${LABELS[label]}:** ${text}`;
}

if (import.meta.main) {
  const [file, text] = keysDocument();
  writeFileSync(file, text);
}
