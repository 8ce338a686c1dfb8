import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diffLines } from '../../../../src/operator/http-server/pages/configuration.ts';
import { faultIn } from '../../../../src/settings/faults.ts';
import { useRedis } from '../../../support/redis.ts';
import { openConfigurations } from '../../control/open-configurations.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { OWNER, openPages } from './open-pages.ts';

const redis = useRedis();
const PAGE = '/tenants/nuova/configuration';
const YAML = 'name: Nuova\npassword: { sealed: dav }\n';
const FILE = 'config/tenants/studio-rossi.yaml';

/** The pages over one tenant of a file; a document with the word "broken" has faults. */
async function open(visitor = OWNER) {
  const connection = redis.connect();
  await connection.flushall();
  const configurations = openConfigurations(connection, {
    running: ['studio-rossi'],
    inFiles: { 'studio-rossi': FILE },
    faultsOf: ({ id, open: read }) =>
      read().yaml.includes('broken')
        ? [faultIn(`managed tenant ${id}`, 'is <broken>', 'mend it', { line: 3, path: 'targets.x' })]
        : [],
  });
  const pages = await openPages({ installation: openInstallation({ tenants: [] }), visitor, desk: { configurations } });
  return { ...pages, configurations, contentOf: async () => (await configurations.store.read()).tenants.get('nuova') };
}

const fieldIn = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';

describe('a managed clinic', () => {
  test('is added and changed in two steps without a script: a preview comes before saving', async () => {
    const { see, post, contentOf, configurations } = await open();
    expect(await see('/add-clinic')).toContain('<textarea id="yaml"');
    const checked = await post('/add-clinic', { step: 'check', tenant: 'nuova', yaml: YAML.replaceAll('\n', '\r\n') });
    expect(checked.body).toContain('<ins><span class="heard">added: </span>+ name: Nuova');
    expect(checked.body).toContain('name="secret-dav" autocomplete="off" required');
    expect(await contentOf()).toBeUndefined();
    const saved = await post('/add-clinic', {
      step: 'save',
      tenant: 'nuova',
      yaml: YAML,
      'secret-dav': 'correct-horse',
    });
    expect([saved.statusCode, saved.headers.location]).toEqual([303, `${PAGE}?did=added`]);
    expect(await see(`${PAGE}?did=added`)).toContain('href="/tenants/nuova#connections"');
    expect((await contentOf())?.open()).toMatchObject({ yaml: YAML, secrets: { dav: 'correct-horse' } });

    const page = await see(PAGE);
    const revision = fieldIn(page, 'revision');
    expect(revision).toMatch(/^[\w-]{22}$/);
    const next = YAML.replace('Nuova', 'Altra');
    const change = await post(PAGE, { step: 'check', revision, yaml: next });
    expect(change.body).toMatch(/<del>.*- name: Nuova\n<\/del><ins>.*\+ name: Altra\n<\/ins>/);
    expect(change.body).not.toContain('autocomplete="off" required');
    const replaced = await post(PAGE, { step: 'save', revision, yaml: next, 'secret-dav': '' });
    expect(await see(String(replaced.headers.location))).toContain('The configuration is saved.');
    const same = { step: 'save', revision: fieldIn(await see(PAGE), 'revision'), yaml: next };
    const unchanged = await post(PAGE, same);
    expect(await see(String(unchanged.headers.location), { 'accept-language': 'it' })).toContain('nulla è cambiato');
    expect((await contentOf())?.open()).toMatchObject({ yaml: next, secrets: { dav: 'correct-horse' } });
    for (const body of [checked.body, page, change.body, await see(PAGE)]) expect(body).not.toContain('correct-horse');

    // The form was loaded before another change.
    const late = await post(PAGE, { step: 'save', revision, yaml: YAML });
    expect([late.statusCode, late.body.includes('revision-changed')]).toEqual([409, true]);
    expect((await contentOf())?.open().yaml).toBe(next);
    expect(configurations.followed).toBe(3);
  });

  test('shows every fault with its line and its field, and keeps the typed text', async () => {
    const { post, contentOf } = await open();
    const { statusCode, body } = await post('/add-clinic', { step: 'check', tenant: 'nuova', yaml: 'name: broken\n' });
    expect([statusCode, await contentOf()]).toEqual([422, undefined]);
    for (const told of ['>3<', '<code>targets.x</code>', 'is &lt;broken&gt;', 'mend it', 'name: broken']) {
      expect(body).toContain(told);
    }
    expect((await post('/add-clinic', { step: 'save', tenant: 'nuova', yaml: 'name: broken\n' })).statusCode).toBe(422);
    expect(await contentOf()).toBeUndefined();
  });

  test('is removed by typing its id, at the revision that was shown', async () => {
    const { see, post, contentOf } = await open();
    await post('/add-clinic', { step: 'save', tenant: 'nuova', yaml: YAML, 'secret-dav': 'x' });
    const revision = fieldIn(await see(PAGE), 'revision');
    await post(PAGE, { step: 'remove', revision, sure: 'other' });
    expect(await contentOf()).toBeDefined();
    const removed = await post(PAGE, { step: 'remove', revision, sure: 'nuova' });
    expect(removed.headers.location).toBe('/?did=removed');
    expect(await see('/?did=removed')).toContain('Its events and contacts stay in calendars and CRMs');
    expect(await contentOf()).toBeUndefined();
  });

  test('is another one’s to change than an owner’s of some clinics', async () => {
    const { post, contentOf, see } = await open({ ...OWNER, tenants: new Set(['nuova']) });
    expect(await see('/add-clinic')).toContain('not-allowed');
    const answer = await post('/add-clinic', { step: 'save', tenant: 'nuova', yaml: YAML, 'secret-dav': 'x' });
    expect([answer.statusCode, await contentOf()]).toEqual([409, undefined]);
  });
});

test('a clinic of a file says which one, in both languages, and takes no change', async () => {
  const { see, post } = await open();
  const page = await see('/tenants/studio-rossi/configuration');
  expect(page).toContain(`The file ${FILE}`);
  expect(page).not.toContain('<textarea');
  const italian = await see('/tenants/studio-rossi/configuration', { 'accept-language': 'it' });
  expect(italian).toContain(`Questa clinica è configurata dal file ${FILE}`);
  const answer = await post('/tenants/studio-rossi/configuration', { step: 'save', yaml: YAML, 'secret-dav': 'x' });
  expect([answer.statusCode, answer.body.includes('tenant-in-file')]).toEqual([409, true]);
});

test('a difference holds both texts, and no line of both that could be one', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));
  const without = (kind: string, [before, after]: [string, string]) =>
    diffLines(before, after)
      .filter((line) => line.kind !== kind)
      .map((line) => line.text)
      .join('\n');
  const plain = (given: string) => given.replace(/\n$/, '');
  fc.assert(
    fc.property(fc.tuple(text, text), (both) => {
      expect([without('added', both), without('removed', both)]).toEqual(both.map(plain));
    }),
  );
  expect(diffLines('a\nb\nc', 'a\nx\nc').map(({ kind, text: line }) => `${kind} ${line}`)).toEqual([
    ...['same a', 'removed b', 'added x', 'same c'],
  ]);
});
