import { expect, test } from 'vitest';
import { needsPerson, type Problem } from '../../../../src/core/model/problems.ts';
import { message } from '../../../../src/messages/message.ts';
import { problemTable } from '../../../../src/operator/http-server/pages/problems.ts';
import { useRedis } from '../../../support/redis.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { AWAY, openServerAway } from '../../control/server-away.ts';
import { openActsWorld } from '../../control/services-world.ts';
import { OWNER, openPages } from './open-pages.ts';
import { pageContext, wordsOf } from './page-context.ts';

const redis = useRedis();
const ROUTE = '/servers/retry';

async function open(visitor = OWNER) {
  const { tenant } = await openActsWorld(redis.connect());
  const installation = openInstallation({ tenants: [tenant] });
  const away = await openServerAway(redis.connect(), installation);
  return { tenant, ...away, ...(await openPages({ installation, visitor })) };
}

/** The fields of the form that a page has the server tried with; null for none. */
function formIn(page: string): Record<string, string> | null {
  const [, form] = new RegExp(`<form[^>]*action="${ROUTE}"[^>]*>(.*?)</form>`, 's').exec(page) ?? [];
  if (form === undefined) return null;
  const inputs = [...form.matchAll(/<input[^>]*>/g)].map(([input]) => input);
  const of = (input: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '';
  return Object.fromEntries(inputs.map((input) => [of(input, 'name'), of(input, 'value')]));
}

test.each(['/', '/tenants/studio-rossi'])(
  'the button on %s has a server that is away tried, and leads back',
  async (address) => {
    const { see, post, woken, recorded } = await open();
    const fields = formIn(await see(address));
    expect(fields).toMatchObject({ server: AWAY });
    const answer = await post(ROUTE, fields ?? {});
    const led = String(answer.headers.location);
    expect([answer.statusCode, led]).toEqual([303, `${address}?did=retry.1.1`]);
    expect(await see(led)).toContain('The daemon now retries 1 target of 1 clinic.');
    expect(await see(led, { 'accept-language': 'it' })).toContain('riprova ora 1 destinazione di 1 clinica');
    expect(woken).toEqual([expect.stringContaining(`${AWAY} studio-rossi/`)]);
    expect(recorded).toMatchObject([
      { verb: 'retry', outcome: 'begun', what: { host: AWAY } },
      { verb: 'retry', outcome: 'done' },
    ]);
  },
);

test('who may only look has no button, and its request is refused', async () => {
  const { see, post, woken } = await open({ ...OWNER, level: 'viewer' });
  const page = await see('/');
  expect(page).toContain(AWAY);
  expect(formIn(page)).toBeNull();
  expect((await post(ROUTE, { server: AWAY })).statusCode).toBe(403);
  expect(woken).toEqual([]);
});

test('a request without the proof of the page is refused', async () => {
  const { post, woken } = await open();
  expect((await post(ROUTE, { server: AWAY, csrf: 'another' })).statusCode).toBe(403);
  expect(woken).toEqual([]);
});

test('a user of another clinic cannot start a retry', async () => {
  const { see, post, woken } = await open({ ...OWNER, tenants: new Set(['aurora']) });
  expect(await see('/')).not.toContain(AWAY);
  const answer = await post(ROUTE, { server: AWAY });
  expect(await see(String(answer.headers.location))).toContain('no request was sent');
  expect(woken).toEqual([]);
});

test('a retry of a server that answers again says that nothing was sent, in both languages', async () => {
  const { see, post, woken } = await open();
  const answer = await post(ROUTE, { server: 'answers.example', tenant: 'studio-rossi' });
  const led = String(answer.headers.location);
  expect(led).toBe('/tenants/studio-rossi?did=retry-nothing');
  expect(await see(led)).toContain('Nothing was waiting for this server: no request was sent.');
  expect(await see(led, { 'accept-language': 'it' })).toContain('nessuna richiesta è stata inviata');
  expect(woken).toEqual([]);
});

test('names a target by its doctor, and any other subject by its text', () => {
  const context = pageContext({ targetName: (tenant, target) => `Dr Rossi of ${tenant}, ${target}` });
  const problemOf = (kind: 'subject.target' | 'subject.login') =>
    needsPerson({ tenant: 'aurora', subject: message(kind, { id: 'x' }), code: 'c', sentence: 'fails', next: null });
  const shown = (problem: Problem) => problemTable(context, 'Problems', [problem], { links: null, services: null });
  expect(String(shown(problemOf('subject.target')))).toContain('<span title="x">Dr Rossi of aurora, x</span>');
  expect(wordsOf(shown(problemOf('subject.login')))).toContain('connection x');
  expect(wordsOf(shown(problemOf('subject.login')))).not.toContain('Dr Rossi');
});
