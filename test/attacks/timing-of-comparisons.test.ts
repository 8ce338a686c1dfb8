import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/*
 * A comparison of strings stops at the first different letter, so its duration reveals how much of a guess is right. A client's proof is
 * compared by `timingSafeEqual`, or looked up by its hash.
 */

const src = join(import.meta.dirname, '../../src');
/** Where strangers' requests come in. */
const PLACES = [
  'operator/http-server/**/*.ts',
  'operator/control/*.ts',
  'operator/mcp-server/*.ts',
  'features/**/*.ts',
];
const SECRET = "\\b[\\w.]*(?:token|secret|proof|signature|csrf|passphrase|ticket|bearer)\\b(?!\\.)(?:\\'\\])?";
const CONSTANT = "(?!null\\b|undefined\\b|true\\b|false\\b|['`\\d])";
const COMPARED = new RegExp(`${SECRET}\\s*[!=]==\\s*${CONSTANT}\\S|[!=]==\\s*${SECRET}(?!\\()`, 'i');

/** Comparisons that involve no client's proof, with the reason. */
const NONE_OF_A_STRANGERS: Readonly<Record<string, string>> = {
  'operator/control/notifications.ts: secret === own':
    'own is one of the same request, which was compared by its hash before',
  'features/reminders/views.ts: entry.locationProof !== proof': 'both come from our own state',
  'features/reminders/recipients.ts: proof === patientProof': 'both come from our own state',
  'features/reminders/reschedules.ts: === message.patientProof': 'both come from our own state',
  'features/reminders/told.ts: entry.patientProof === proofs': 'both come from our own state',
  'features/reminders/told.ts: entry.locationProof === proofs': 'both come from our own state',
  'operator/http-server/access/sign-in.ts: passphrase !== again': 'both are of one form',
};

test('no source compares a proof letter by letter', () => {
  const files = globSync(PLACES, { cwd: src });
  expect(files.length).toBeGreaterThan(150);
  const found = files.flatMap((file) =>
    readFileSync(join(src, file), 'utf8')
      .split('\n')
      .filter((line) => COMPARED.test(line) && !/^\s*(\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  const known = Object.keys(NONE_OF_A_STRANGERS);
  const isKnown = (line: string) =>
    known.some((one) => {
      const [file = '', text = ''] = one.split(': ');
      return line.startsWith(`${file}: `) && line.includes(text);
    });
  expect(found.filter((line) => !isKnown(line))).toEqual([]);
  expect(known.filter((one) => !found.some((line) => line.includes(one.split(': ')[1] ?? '')))).toEqual([]);
});

test.each(['shown === token', 'given !== proof', 'request.csrf === expected', 'given === settings.secret'])(
  'such a comparison is found: %s',
  (line) => expect(COMPARED.test(line)).toBe(true),
);

test.each(['token === null', 'secret !== undefined', "proof === ''", 'proof.length === 32', 'token === true'])(
  'a comparison without a secret is ignored: %s',
  (line) => expect(COMPARED.test(line)).toBe(false),
);
