import { readFileSync } from 'node:fs';
import { glob, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsIn, wordsOf } from '../support/documented-commands.ts';
import { useRedis } from '../support/redis.ts';
import { editTenant, type SmallWorld, startSmallWorld, tenantFile } from './support/small-world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const redis = useRedis({ isStored: true });
const CAREFUL = { vanished: { share: 0, count: 1 }, cancelled: { share: 1, count: 50 } };

/** Commands that are not run here, by how they begin, and where else they are. */
const RUN_ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [
    /^login \S+ (--device|doctor-2|practice-google --link)/,
    'a user signs in on the vendor’s pages: e2e/logins, e2e/journey',
  ],
  [/^(--config my-clinic|init) /, 'with every answer that the document gives: e2e/first-calendar'],
  [/^match /, 'in a CRM: e2e/crm-matching'],
  [/^run( |$)/, 'a daemon runs until it is stopped: e2e/roles'],
  [/^sessions end /, 'an owner has to be signed in first: operator/operations/access'],
  [/^triggers reopen /, 'an endpoint has to be closed first: e2e/triggers'],
];

/** Commands that exit with 1 here, by their beginning, with the reason. */
const ENDS_WITH_ONE: readonly (readonly [RegExp, string])[] = [
  [/^check-spec /, 'an operator must decide facts that the document does not contain'],
  [/^sync /, 'removals wait for approval'],
];

/**
 * Pages whose commands run with the fault or the change that they show: e2e/at-night, e2e/day-to-day. The reference has invented ids in its
 * examples, which operator/cli/examples parses.
 */
const PAGES_ELSEWHERE: readonly string[] = ['docs/at-night.md', 'docs/day-to-day.md', 'docs/commands.md'];

/** A documented command, as the test runs it. */
interface Typed {
  place: string;
  text: string;
  words: string[];
  /** File for the output, as in a shell redirection. */
  into: string | null;
}

async function documentedCommands(): Promise<Typed[]> {
  const paths = await Array.fromAsync(glob(['*.md', 'docs/**/*.md'], { cwd: ROOT }));
  return paths
    .filter((path) => !PAGES_ELSEWHERE.includes(path))
    .toSorted()
    .flatMap((path) =>
      commandsIn(readFileSync(join(ROOT, path), 'utf8'))
        .filter(({ isWhole }) => isWhole)
        .map(({ text, line }) => ({
          ...{ place: `${path}:${line}`, text, words: wordsOf(text).slice(1) },
          into: / > (\S+)/.exec(text)?.[1] ?? null,
        })),
    );
}

let world: SmallWorld;
beforeAll(async () => {
  world = await startSmallWorld({
    ...{ redisUrl: redis.url, tenants: 2, targets: ['google-calendar'], target: { guard: CAREFUL } },
    settings: {
      operator: { port: 0, publicUrl: 'https://mirror.example', access: {} },
      http: { port: 8080, publicUrl: 'https://login.clinic.example' },
    },
    reminders: { channels: { text: { kind: 'dry' } }, rules: { 'an-hour': { before: 'PT1H', channels: ['text'] } } },
  });
  await writeFile(join(world.configDir, 'clinic-mirror.yaml'), `\ndataDirectory: ${join(world.dir, 'kept')}\n`, {
    flag: 'a',
  });
  await editTenant(world, 'clinic-1', (tenant) => {
    Object.assign((tenant as unknown as { clinic: object }).clinic, {
      scopes: ['invoices', 'treatments', 'patients', 'episodes'],
    });
  });
  // The other one is kept in Redis, as the document on managed tenants has it.
  await rename(tenantFile(world, 'clinic-2'), join(world.dir, 'aurora.yaml'));
  await writeFile(join(world.dir, 'secrets.yaml'), '{}\n');
  await writeFile(join(world.dir, 'change.json'), '{"phone": "+39 02 1234567"}');
  await writeFile(join(world.dir, 'swagger.json'), readFileSync(join(ROOT, 'test/fixtures/openapi-italian.json')));
  await world.logIn({ tenant: 'clinic-1' });
  await world.cycle('clinic-1');
});
afterAll(() => world.close());

/** What the documents' examples are in this world. */
async function namesHere(): Promise<(word: string) => string> {
  const { clinicId } = world.tenants[0]!;
  const later = [...world.clinic.appointments(clinicId)].filter(
    ({ start }) => start > world.clinic.clock() + 86_400_000,
  );
  for (const { id } of later.slice(0, 3)) world.clinic.remove(clinicId, id, 'hard');
  for (const _ of [1, 2]) await world.cycle('clinic-1');
  const answer = async (...args: string[]) => JSON.parse((await world.cli(...args, '--json')).out);
  const { items: holds } = await answer('holds', 'list', 'clinic-1');
  const [invoice] = await answer('clinic', 'clinic-1', 'invoices', '--limit', '1');
  const [patient] = await answer('clinic', 'clinic-1', 'patients', '--limit', '1');
  const names: Readonly<Record<string, string>> = {
    ...{
      azmma: holds[0].id,
      k3fw8tzn: holds[0].seen,
      'doctor-2': 'doctor-1',
      'rossi@practice.example': world.targets[0]!.account,
    },
    ...{ aurora: 'clinic-1', belvedere: 'clinic-1', 'studio-rossi': 'clinic-1' },
  };
  return (word) => {
    if (/^pat\w{7}$/.test(word)) return patient.id;
    if (/^apt\w{7}$/.test(word)) return later.at(-1)!.id;
    if (/^inv\w{7}$/.test(word)) return invoice.id;
    const file = /^(@?)(\S+\.(?:yaml|json|pdf|csv|backup))$/.exec(word);
    if (file !== null) return `${file[1]}${join(world.dir, basename(file[2] ?? ''))}`;
    return names[word] ?? word;
  };
}

test('the commands that documents show for copying have the documented effect', async () => {
  const all = await documentedCommands();
  const isElsewhere = ({ words }: Typed) => RUN_ELSEWHERE.some(([begins]) => begins.test(words.join(' ')));
  const unused = RUN_ELSEWHERE.filter(([begins]) => !all.some(({ words }) => begins.test(words.join(' '))));
  expect(unused).toEqual([]);
  const here = await namesHere();
  const failed: string[] = [];
  const commands = all.filter((one) => !isElsewhere(one));
  expect(commands.length).toBeGreaterThan(30);
  for (const { place, text, words, into } of commands) {
    const isManaged = words[0] === 'tenants';
    const typed = words.map((word) => (isManaged && word === 'aurora' ? 'clinic-2' : here(word)));
    const { code, out, err } = await world.cli(...typed);
    if (into !== null) await writeFile(here(into), out);
    const isRight = code === 0 || (code === 1 && ENDS_WITH_ONE.some(([begins]) => begins.test(words.join(' '))));
    if (!isRight) failed.push(`${place}: ${text}: ${code}: ${err}${out.slice(0, 400)}`);
  }
  expect(failed).toEqual([]);
});
