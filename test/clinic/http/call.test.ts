import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { failureOf, openClient, profileOf, unhurried } from '../open-client.ts';
import { type Script, type ScriptedAnswer, startScriptedServer } from '../scripted-server.ts';

const EMPTY_LIST = { json: { data: [], hasMore: false, total: 0 } };
const WINDOW = { fromAt: Date.parse('2026-03-01T00:00:00Z'), toAt: Date.parse('2026-03-02T00:00:00Z') };

/** Reads a list on a server that sends these answers in order, and repeats the last one. */
async function listAfter(answers: ScriptedAnswer[], profile = profileOf()) {
  let asked = 0;
  const script: Script = () => answers[Math.min(asked++, answers.length - 1)] ?? null;
  await using server = await startScriptedServer(script);
  const { client, tokens } = openClient(server.url, profile);
  const query = { agendaIds: null, window: WINDOW };
  const outcome = await client.readAppointments('t1', query, unhurried()).catch((error: unknown) => error);
  return { outcome, requests: server.requests, tokens };
}

describe('the access token', () => {
  it('is sent in the header, never in the URL', async () => {
    const { requests } = await listAfter([EMPTY_LIST]);
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer token-1', accept: 'application/json' });
    expect(requests[0]?.url).not.toContain('token-1');
  });

  it('is renewed once after a 401 and the call is made again', async () => {
    const { outcome, requests, tokens } = await listAfter([{ status: 401 }, EMPTY_LIST]);
    expect(outcome).toMatchObject({ completeness: 'complete', requests: 2 });
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(tokens.renewed).toBe(1);
  });

  it('requires an operator if a fresh token is refused too', async () => {
    const { outcome, requests, tokens } = await listAfter([{ status: 401, json: { error: 'invalid_token' } }]);
    expect(outcome).toMatchObject({ actor: 'authorization', code: 'token-refused', retry: 'never', status: 401 });
    expect(requests).toHaveLength(2);
    expect(tokens.renewed).toBe(1);
  });

  it('is renewed once per call, even if the call is retried for another reason', async () => {
    const { outcome, requests, tokens } = await listAfter([{ status: 401 }, { status: 503 }, { status: 401 }]);
    expect(outcome).toMatchObject({ code: 'token-refused' });
    expect(requests).toHaveLength(3);
    expect(tokens.renewed).toBe(1);
  });

  it.each(['next-link', 'link-header'] as const)('is not sent to another host that a link names: %s', async (style) => {
    await using thief = await startScriptedServer(() => EMPTY_LIST);
    const address = `${thief.url}/steal`;
    const answer = { json: { data: [], links: { next: address } }, headers: { link: `<${address}>; rel="next"` } };
    const { outcome } = await listAfter([answer], profileOf({ paging: { style } }));
    expect(outcome).toMatchObject({ actor: 'contract', code: 'foreign-link' });
    expect(thief.requests).toEqual([]);
  });
});

describe('a refused body', () => {
  it.each([
    [{ details: [{ field: 'patientId', message: 'Rossi is unknown' }] }, 'patientId'],
    [{ errors: { start: ['is in the past'], 'slot.end': 'x' } }, 'start, slot.end'],
    [{ errors: [{ pointer: '#/slot/start', detail: 'no' }] }, 'slot.start'],
    [{ details: [{ loc: ['body', 'items', 0, 'price'], msg: 'no' }] }, 'items.0.price'],
    [{ error: 'invalid', field: 'from' }, 'from'],
  ])('names the fields that the clinic named: %j', async (json, fields) => {
    for (const status of [400, 422]) {
      const { outcome } = await listAfter([{ status, json }]);
      if (!(outcome instanceof MirrorError)) throw new Error('it was taken');
      expect(outcome.message).toMatch(/; the answer names the fields? /);
      expect(outcome.message).toContain(`${fields}, status ${status}`);
      expect(outcome.message).not.toContain('Rossi');
      if (status === 400) expect(outcome.remedy).toContain(`check name, format and value of the sent fields ${fields}`);
    }
  });

  it('names nothing that may be a value', async () => {
    const json = {
      details: [
        { name: 'Rossi', message: 'no' },
        { field: 'Mario Rossi', message: 'no' },
      ],
    };
    const { outcome } = await listAfter([{ status: 400, json }]);
    expect(String(outcome)).not.toMatch(/Rossi|it names/);
  });

  it('omits the requested URL, which frameworks repeat', async () => {
    const json = { status: 400, error: 'Bad Request', path: '/api/patients/RSSMRA80A01H501U' };
    const { outcome } = await listAfter([{ status: 400, json }]);
    expect(outcome).toMatchObject({ code: 'call-refused' });
    expect(inspect(outcome)).not.toMatch(/RSSMRA|it names/);
  });
});

describe('an answer that is no success', () => {
  it.each<[ScriptedAnswer, object]>([
    [
      { status: 403, json: { error: 'missing_claim', message: 'x' } },
      { actor: 'authorization', code: 'missing-claim' },
    ],
    [
      { status: 403, json: { error: 'insufficient_permissions' } },
      { actor: 'authorization', code: 'insufficient-permissions' },
    ],
    [
      { status: 403, body: '<html>Forbidden</html>' },
      { actor: 'authorization', code: 'forbidden' },
    ],
    [{ status: 404 }, { actor: 'settings', code: 'not-found' }],
    [{ status: 409 }, { actor: 'conflict', code: 'conflict' }],
    [{ status: 422 }, { actor: 'contract', code: 'rule-refused' }],
    [{ status: 400 }, { actor: 'contract', code: 'call-refused' }],
    [
      { status: 302, headers: { location: '/login' } },
      { actor: 'settings', code: 'redirected' },
    ],
  ])('%j is reported as %j and not retried', async (answer, expected) => {
    const { outcome, requests } = await listAfter([answer]);
    expect(outcome).toMatchObject({ ...expected, status: answer.status });
    expect(requests).toHaveLength(1);
  });

  it('is split by the text where the profile has patterns for it', async () => {
    const profile = profileOf({ errors: { codePaths: [], textPaths: ['Message'], missingClaim: ['missing scope'] } });
    const { outcome } = await listAfter([{ status: 403, json: { Message: 'Missing scope agenda' } }], profile);
    expect(outcome).toMatchObject({ code: 'missing-claim' });
  });

  it('contributes its machine-readable code to the message, and no other text', async () => {
    const named = await listAfter([
      { status: 422, json: { error: 'patient_blocked', message: 'Mario Rossi è bloccato' } },
    ]);
    expect((named.outcome as Error).message).toBe(
      'clinic.appointments.list: a rule of the clinic refuses the call, status 422 (patient_blocked)',
    );
    const spoken = await listAfter([{ status: 422, json: { error: 'Mario Rossi è bloccato' } }]);
    expect(JSON.stringify(spoken.outcome) + (spoken.outcome as Error).message).not.toContain('Rossi');
    expect((named.outcome as MirrorError).vendorMessages()).toEqual(['Mario Rossi è bloccato']);
    expect(inspect(named.outcome, { depth: null, showHidden: true })).not.toContain('Rossi');
  });

  it.each<[string, unknown, string[]]>([
    ['rows with a field and a text', { details: [{ field: 'email', message: 'is none' }] }, ['email: is none']],
    ['problem details', { errors: [{ pointer: '#/age', detail: 'is too high' }] }, ['#/age: is too high']],
    [
      'texts under names',
      { errors: { email: ['is none', 'is long'], age: 'is none' } },
      [...['email: is none', 'email: is long', 'age: is none']],
    ],
    ['texts alone', { message: 'Wrong', details: ['no patient'] }, ['Wrong', 'no patient']],
    ['what is no detail', { details: 7, errors: [null, 3, { field: 'a' }, [], ''], fields: null }, []],
    ['nothing', null, []],
  ])('is quoted to the caller that requested %s', async (_what, json, words) => {
    const { outcome } = await listAfter([{ status: 400, json: json as object }]);
    expect((outcome as MirrorError).vendorMessages()).toEqual(words);
  });

  it('is quoted only as far as a human reads', async () => {
    const details = Array.from({ length: 50 }, () => 'x'.repeat(1_000));
    const { outcome } = await listAfter([{ status: 400, json: { details } }]);
    const told = (outcome as MirrorError).vendorMessages();
    expect([told.length, Math.max(...told.map(({ length }) => length))]).toEqual([20, 300]);
  });
});

describe('a clinic that can not answer now', () => {
  it.each<[string, ScriptedAnswer]>([
    ['503', { status: 503, body: '<html>maintenance</html>' }],
    ['429 with a short wait', { status: 429, headers: { 'retry-after': '0.01' } }],
    ['a cut answer', { json: { data: [] }, cut: true }],
  ])('is retried within the call after %s', async (_what, failure) => {
    const { outcome, requests } = await listAfter([failure, failure, EMPTY_LIST]);
    expect(outcome).toMatchObject({ completeness: 'complete', requests: 3 });
    expect(requests).toHaveLength(3);
  });

  it('is left after a few tries', async () => {
    const { outcome, requests } = await listAfter([{ status: 500 }]);
    expect(outcome).toMatchObject({ actor: 'remote', code: 'unavailable', retry: 'later', status: 500 });
    expect(requests).toHaveLength(3);
  });

  it.each<[string, Record<string, string>, number]>([
    ['Retry-After', { 'retry-after': '30' }, 30_000],
    ['no header', {}, 10_000],
    ['one that means nothing', { 'retry-after': '0' }, 10_000],
  ])('ends the call at once if the response requires a long pause by %s', async (_what, headers, retryAfterMs) => {
    const { outcome, requests } = await listAfter([{ status: 429, headers, json: { error: 'rate_limit_exceeded' } }]);
    expect(outcome).toMatchObject({ actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs });
    expect(requests).toHaveLength(1);
  });

  it('is given up on when it stays silent', async () => {
    await using server = await startScriptedServer(() => null);
    const { client } = openClient(server.url, profileOf({ limits: { timeoutMs: 100, tries: 2 } }));
    const error = await failureOf(client.userInfo(unhurried()));
    expect(error).toMatchObject({
      actor: 'remote',
      code: 'timeout',
      message: `clinic.userInfo.read: no answer in time: ${new URL(server.url).host}`,
    });
    expect(server.requests).toHaveLength(2);
  });

  it('is not retried within the call if the budget postpones requests', async () => {
    const exhausted = new MirrorError('wait', {
      actor: 'remote',
      code: 'budget-exhausted',
      retry: 'later',
      retryAfterMs: 9,
    });
    let taken = 0;
    const budget = {
      async take() {
        taken += 1;
        throw exhausted;
      },
      async refused() {},
      async accepted() {},
    };
    const { client } = openClient('http://127.0.0.1:9', profileOf(), { budget });
    expect(await failureOf(client.userInfo(unhurried()))).toMatchObject({ code: 'budget-exhausted', retryAfterMs: 9 });
    expect(taken).toBe(1);
  });

  it('is left when the daemon stops, also between two tries', async () => {
    const stop = new AbortController();
    await using server = await startScriptedServer(() => {
      setImmediate(() => stop.abort());
      return { status: 503, headers: { 'retry-after': '4' } };
    });
    const { client } = openClient(server.url, profileOf());
    expect(await failureOf(client.userInfo(stop.signal))).toMatchObject({ actor: 'remote', code: 'aborted' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('an answer that is not understood', () => {
  it.each<[string, ScriptedAnswer]>([
    ['html-answer', { body: '<html>Accesso alla rete</html>', headers: { 'content-type': 'text/html' } }],
    ['not-json', { body: '{"data":[{"id":"a","lastName":"Rossi"' }],
    ['empty-answer', { status: 200, body: '' }],
    ['empty-answer', { status: 204 }],
    ['not-a-list', { json: { message: 'ok' } }],
    ['not-a-list', { json: { data: [], items: [] } }],
    ['not-a-list', { json: 'nothing' }],
  ])('ends as %s and names the call', async (code, answer) => {
    const { outcome, requests } = await listAfter([answer]);
    expect(outcome).toMatchObject({ actor: 'contract', code, retry: 'later' });
    expect((outcome as Error).message).toMatch(/^clinic\.appointments\.list: /);
    expect((outcome as Error).message).not.toContain('Rossi');
    expect(requests).toHaveLength(1);
  });

  it('ends as answer-too-large when it is huge', async () => {
    const profile = profileOf({ limits: { maxAnswerBytes: 2_000 } });
    const { outcome } = await listAfter([{ body: `[${'1,'.repeat(2_000)}1]` }], profile);
    expect(outcome).toMatchObject({
      code: 'answer-too-large',
      message: 'clinic.appointments.list: the answer is larger than allowed',
    });
  });
});

describe('a single appointment', () => {
  const ROW = {
    id: 'a/1',
    agendaId: 'g',
    start: '2026-03-01T10:00:00Z',
    end: '2026-03-01T11:00:00Z',
    status: 'Booked',
  };

  async function readAlone(answer: ScriptedAnswer, profile = profileOf()) {
    await using server = await startScriptedServer(() => answer);
    const { client } = openClient(`${server.url}/api/`, profile);
    const outcome = await client.readAppointment('t 1', 'a/1', unhurried()).catch((error: unknown) => error);
    return { outcome, path: server.requests[0]?.path };
  }

  it('is requested by its encoded id and found', async () => {
    const { outcome, path } = await readAlone({ json: ROW });
    expect(outcome).toMatchObject({ found: { id: 'a/1', status: 'booked' } });
    expect(path).toBe('/api/v2/tenants/t%201/appointments/a%2F1');
  });

  it('may be wrapped', async () => {
    expect((await readAlone({ json: { data: ROW } }, profileOf({ recordPath: 'data' }))).outcome).toHaveProperty(
      'found',
    );
  });

  it('may be wrapped in another way than those of other lists', async () => {
    const profile = profileOf({ recordPath: 'data', appointments: { recordPath: 'appointment' } });
    expect((await readAlone({ json: { appointment: ROW } }, profile)).outcome).toHaveProperty('found');
    const bare = profileOf({ recordPath: 'data', appointments: { recordPath: '.' } });
    expect((await readAlone({ json: ROW }, bare)).outcome).toHaveProperty('found');
    expect((await readAlone({ json: { data: ROW } }, bare)).outcome).not.toHaveProperty('found');
  });

  it.each([404, 410])('is absent at %i', async (status) => {
    expect((await readAlone({ status, json: { error: 'not_found' } })).outcome).toEqual({ absent: true });
    expect((await readAlone({ status })).outcome).toEqual({ absent: true });
  });

  it('is not absent because a proxy answers with a page, unless the profile says that the clinic does so', async () => {
    const page = { status: 404, body: '<html>no such host</html>', headers: { 'content-type': 'text/html' } };
    expect((await readAlone(page)).outcome).toMatchObject({ actor: 'settings', code: 'not-found' });
    const trusting = profileOf({ errors: { htmlMeansAbsent: true } });
    expect((await readAlone(page, trusting)).outcome).toEqual({ absent: true });
  });

  it.each([400, 401, 403, 409, 422, 429, 500])('is never absent at %i', async (status) => {
    const { outcome } = await readAlone({ status });
    expect(outcome).toBeInstanceOf(MirrorError);
  });

  it('is reported unusable under its id', async () => {
    expect((await readAlone({ json: { ...ROW, start: '?' } })).outcome).toEqual({
      unusable: { recordId: 'a/1', code: 'bad-time', field: 'start', agendaId: 'g' },
    });
    expect((await readAlone({ json: {} })).outcome).toEqual({
      unusable: { recordId: 'a/1', code: 'missing-id', field: 'id' },
    });
  });

  it('must have the requested id', async () => {
    expect((await readAlone({ json: { ...ROW, id: 'other' } })).outcome).toMatchObject({ code: 'wrong-record' });
  });

  it('may have its id in another case if the profile says so, and keeps the requested one', async () => {
    const ignoring = profileOf({ idCase: 'ignored' });
    for (const id of ['A/1', 'a/1']) {
      expect((await readAlone({ json: { ...ROW, id } }, ignoring)).outcome).toMatchObject({ found: { id: 'a/1' } });
    }
    expect((await readAlone({ json: { ...ROW, id: 'A/1' } })).outcome).toMatchObject({ code: 'wrong-record' });
    for (const id of ['a/2', 'a/11', 'b']) {
      expect((await readAlone({ json: { ...ROW, id } }, ignoring)).outcome).toMatchObject({ code: 'wrong-record' });
    }
  });

  it.each(['..', '.', ''])('is not requested under the id "%s", which would form another URL', async (id) => {
    await using server = await startScriptedServer(() => ({ json: ROW }));
    const { client } = openClient(server.url, profileOf());
    expect(await failureOf(client.readAppointment('t', id, unhurried()))).toMatchObject({ code: 'bad-id' });
    expect(server.requests).toEqual([]);
  });
});

it('every request passes a constant label to the HTTP client', async () => {
  await using server = await startScriptedServer(({ path }) =>
    path.endsWith('/userinfo') ? { json: { sub: 's', tenants: [{ id: 't' }] } } : EMPTY_LIST,
  );
  const labels: string[] = [];
  const http = createHttpClient({ userAgent: 'test', clock: Date.now, observe: (label) => labels.push(label) });
  const { client } = openClient(server.url, profileOf(), { http });
  await client.userInfo(unhurried());
  for await (const _ of client.agendas.list('secret-tenant', [], unhurried()));
  await client.patients.read('secret-tenant', 'p', unhurried()).catch(() => {});
  expect(labels).toEqual(['clinic.userInfo.read', 'clinic.agendas.list', 'clinic.patients.read']);
});
