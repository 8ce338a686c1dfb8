import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { containerOf } from '../../support/container-of.ts';
import { isMirrorError } from './expect.ts';
import {
  apply,
  create,
  FIELDS,
  failureOf,
  invoice,
  inWords,
  keyOf,
  openWorld,
  PROPERTIES,
  patient,
  readAll,
  remove,
  signal,
  update,
  visit,
} from './support.ts';

const CANARY = 'ValueCanary';

describe('rows', () => {
  test('a key that several records carry is quarantined: none is chosen, written or deleted', async () => {
    const [key, ...others] = FIELDS.Contact!;
    const { sandbox, open } = await openWorld({
      customFields: { ...FIELDS, Contact: [{ ...key!, unique: false }, ...others] },
    });
    const worker = open();
    await expect(containerOf(worker, null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'crm-setup-incomplete', words: ['Contact.Clinic_Key__c', 'Unique'] }),
    );
    const [first] = await apply(worker, create('a'));
    const stamp = sandbox.records('Contact')[0]!.Clinic_Stamp__c;
    sandbox.addByHand('Contact', { LastName: 'Twin', Clinic_Key__c: keyOf('a'), Clinic_Stamp__c: stamp });
    const before = sandbox.records('Contact');
    const outcomes = await apply(worker, update('a', patient({ LastName: 'Changed' })), create('b'));
    expect(inWords(outcomes)).toEqual(['a key-ambiguous', 'b created']);
    expect(failureOf(outcomes)).toMatchObject({ actor: 'settings', retry: 'never' });
    expect(inWords(await apply(worker, remove('a', idOf(first))))).toEqual(['a key-ambiguous']);
    expect(sandbox.records('Contact').filter(({ Clinic_Key__c }) => Clinic_Key__c === keyOf('a'))).toEqual(before);
  });

  test('fail separately in an answer with status 200, in their order', async () => {
    const { sandbox, open } = await openWorld();
    const names = ['a', 'b', 'c', 'd'];
    const operations = names.map((name) => create(name, patient({ LastName: name === 'c' ? null : name })));
    const outcomes = await apply(open(), ...operations);
    expect(inWords(outcomes)).toEqual(['a created', 'b created', 'c required-field-missing', 'd created']);
    expect(failureOf(outcomes)).toMatchObject({
      actor: 'settings',
      retry: 'never',
      message: expect.stringMatching(/LastName/),
    });
    const ids = new Map(sandbox.records('Contact').map((record) => [record.LastName, record.Id]));
    for (const outcome of outcomes)
      if (outcome.result === 'written') expect(outcome.remoteId).toBe(ids.get(outcome.recordId));
  });

  test('that lack a field required by the org report the field, also if it is not mapped', async () => {
    const { open } = await openWorld();
    const properties = [
      { name: 'Name', kind: 'text' },
      { name: 'CloseDate', kind: 'date' },
    ] as const;
    const outcomes = await apply(open('invoices', { properties }), create('a', invoice(null)));
    expect(failureOf(outcomes)).toMatchObject({
      code: 'required-field-missing',
      message: expect.stringMatching(/: StageName$/),
    });
  });

  test('that are locked are tried once more, children of one parent together; then it is for the caller', async () => {
    const { sandbox, open } = await openWorld();
    await apply(open(), create('p1'), create('p2'));
    sandbox.recording.record(true);
    const lock = { kind: 'row-error', statusCode: 'UNABLE_TO_LOCK_ROW' };
    sandbox.faults.add({ match: { path: `#${keyOf('once')}$` }, times: 1, fault: lock });
    sandbox.faults.add({ match: { path: `#${keyOf('twice')}$` }, times: 2, fault: lock });
    const parents = ['p1', 'p2', 'p1', 'p2', 'p1'];
    const visits = ['once', 'twice', 'c', 'd', 'e'].map((name, index) => create(name, visit(keyOf(parents[index]!))));
    const outcomes = await apply(open('appointments'), ...visits);
    expect(inWords(outcomes)).toEqual(['c created', 'd created', 'e created', 'once created', 'twice record-locked']);
    expect(failureOf(outcomes)).toMatchObject({ actor: 'remote', retry: 'later' });
    const [first] = sandbox.recording.recorded().filter(({ body }) => body.includes('"PATCH"'));
    const sent = JSON.parse(first!.body).compositeRequest[0].body.records as { Who: { Clinic_Key__c: string } }[];
    const order = sent.map(({ Who }) => Who.Clinic_Key__c);
    expect(order).toEqual([...order].sort());
  });

  test('of two targets in one org are sent one after another, so that no target locks the other', async () => {
    const { sandbox, open, login } = await openWorld({ writeMs: 60 });
    await apply(open(), create('p1'));
    const other = open('appointments', { ownerTag: 'othermark0000000', login: { ...login } });
    const one = open('appointments');
    const outcomes = await Promise.all([
      apply(one, create('a', visit(keyOf('p1')))),
      apply(other, create('b', visit(keyOf('p1')))),
    ]);
    expect(inWords(outcomes.flat())).toEqual(['a created', 'b created']);
    expect(sandbox.counts.rowsFailed).toBe(0);
  });

  test('of a key that was created at the same moment are tried once more, and update', async () => {
    const { sandbox, open, login } = await openWorld({ writeMs: 150 });
    // Another process, as far as turns go.
    const twin = { ...login, baseUrl: () => sandbox.url.replace('127.0.0.1', 'localhost') };
    const workers = [open(), open('patients', { login: twin })];
    for (const worker of workers) await containerOf(worker, null, signal());
    const outcomes = await Promise.all(workers.map((worker) => apply(worker, create('a'))));
    expect(outcomes.flatMap(inWords).sort()).toEqual(['a adopted', 'a created']);
    expect(sandbox.counts.rowsFailed).toBe(1);
    expect(sandbox.records('Contact')).toHaveLength(1);
  });

  test('that a duplicate rule refuses are reported, and the rule is not bypassed', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.addDuplicateRule({ object: 'Contact', fields: ['Email'], action: 'alert' });
    sandbox.addByHand('Contact', { LastName: 'By hand', Email: 'rossi@clinic.example' });
    const outcomes = await apply(open(), create('a'), create('b', patient({ Email: 'other@clinic.example' })));
    expect(inWords(outcomes)).toEqual(['a duplicate-rule', 'b created']);
    expect(failureOf(outcomes)).toMatchObject({
      actor: 'settings',
      retry: 'never',
      remedy: expect.stringMatching(/rule/),
    });
  });

  test('that cause only an alert of a rule are saved if configured, blocked rows never', async () => {
    const { sandbox, open } = await openWorld();
    const properties = [...PROPERTIES.patients, { name: 'FirstName', kind: 'text' }] as const;
    const namesake = patient({ FirstName: 'Anna' });
    const strict = open('patients', { properties });
    // The rule that a new org has.
    const refused = await apply(strict, create('a', namesake), create('b', namesake));
    expect(inWords(refused)).toEqual(['a created', 'b duplicate-rule']);
    const lenient = open('patients', { properties, settings: { allowDuplicates: true } });
    expect(inWords(await apply(lenient, create('b', namesake)))).toEqual(['b created']);
    sandbox.addDuplicateRule({ object: 'Contact', fields: ['Email'], action: 'block' });
    expect(inWords(await apply(lenient, create('c', namesake)))).toEqual(['c duplicate-rule']);
    // The header is passed over before.
    const early = () => open('patients', { settings: { allowDuplicates: true, apiVersion: '51.0' } });
    expect(early).toThrow('salesforce.duplicates-version');
  });

  test('with a refused value are written without the value, and the value is not reported', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.addValidationRule({ object: 'Contact', field: 'Phone', refuses: CANARY, message: `No ${CANARY}` });
    const long = patient({ LastName: CANARY.repeat(20), Phone: '1' });
    const email = patient({ Email: `${CANARY}@@x` });
    const outcomes = await apply(
      open(),
      create('a'),
      create('b', patient({ Phone: CANARY })),
      create('c', long),
      create('d', email),
    );
    expect(inWords(outcomes)).toEqual(['a created', 'b created', 'c created', 'd created']);
    const stored = outcomes.map((outcome) => (outcome.result === 'written' ? outcome.stored?.properties : undefined));
    expect([stored[1]?.Phone, stored[3]?.Email]).toEqual([null, null]);
    expect(String(stored[2]?.LastName)).toMatch(/…$/);
    expect(String(stored[2]?.LastName).length).toBeLessThanOrEqual(80);
  });

  test('for which Salesforce refuses a whole collection are found, and the others are written', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    const before = sandbox.counts.apiCalls;
    const operations = Array.from({ length: 400 }, (_, index) => create(`r${index}`));
    operations[137] = create('r137', patient({ Birthdate: '1931-02-31' }));
    const outcomes = await apply(worker, ...operations);
    expect(inWords(outcomes).filter((words) => !words.endsWith(' created'))).toEqual(['r137 refused']);
    expect(sandbox.records('Contact')).toHaveLength(399);
    expect(sandbox.counts.apiCalls - before).toBeLessThanOrEqual(10);
  });
});

describe('the limit of API calls', () => {
  test('makes the target back off for an hour once reached', async () => {
    const { sandbox, open } = await openWorld({ dailyApiCalls: 100 });
    const worker = open('patients', { settings: { stopAtShare: 1 } });
    await containerOf(worker, null, signal());
    sandbox.spendApiCalls(99);
    const rest = isMirrorError({ actor: 'remote', code: 'api-limit-reached', retry: 'later', retryAfterMs: HOUR_MS });
    await expect(apply(worker, create('a'), create('b'))).rejects.toSatisfy(rest);
  });

  test('stops the target before its end, and allows another check an hour later', async () => {
    const { sandbox, open } = await openWorld({ dailyApiCalls: 100 });
    let now = Date.now();
    const worker = open('patients', { clock: () => now });
    sandbox.spendApiCalls(77);
    await containerOf(worker, null, signal());
    expect(inWords(await apply(worker, create('a')))).toEqual(['a created']);
    expect(inWords(await apply(worker, create('b')))).toEqual(['b created']);
    expect(sandbox.usedApiCalls()).toBe(80);
    const rest = isMirrorError({ actor: 'remote', code: 'api-limit-near', retry: 'later', retryAfterMs: HOUR_MS });
    await expect(apply(worker, create('c'))).rejects.toSatisfy(rest);
    await expect(readAll(open())).rejects.toSatisfy(rest);
    expect(sandbox.usedApiCalls()).toBe(80);
    now += HOUR_MS;
    expect(inWords(await apply(worker, create('c')))).toEqual(['c created']);
    await expect(apply(worker, create('d'))).rejects.toSatisfy(rest);
  });
});

describe('the login', () => {
  test('is renewed once if its session expires in the middle, for all waiting calls', async () => {
    const { sandbox, open, login } = await openWorld();
    const workers = [open(), open('appointments'), open('patients', { ownerTag: 'othermark0000000' })];
    for (const worker of workers) await containerOf(worker, null, signal());
    sandbox.endSessions();
    const outcomes = await Promise.all([
      apply(workers[0]!, create('a')),
      apply(workers[1]!, create('b', visit(null))),
      apply(workers[2]!, create('c')),
    ]);
    expect(inWords(outcomes.flat())).toEqual(['a created', 'b created', 'c created']);
    expect(login.renewals).toBe(1);
  });

  test('that is refused after its renewal requires an administrator', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    sandbox.faults.add({ fault: { kind: 'status', status: 401 } });
    await expect(apply(worker, create('a'))).rejects.toSatisfy(
      isMirrorError({ actor: 'authorization', code: 'login-refused', retry: 'never' }),
    );
  });

  test('gives each call its current header, so that a rotated one is used immediately', async () => {
    const { sandbox, open, login } = await openWorld();
    const worker = open();
    await apply(worker, create('a'));
    sandbox.endSessions();
    const renewed = await login.renew(signal());
    sandbox.recording.record(true);
    expect(inWords(await apply(worker, create('b')))).toEqual(['b created']);
    expect(sandbox.recording.recorded().map(({ headers }) => headers.authorization)).toEqual([renewed]);
    expect(login.renewals).toBe(1);
  });

  test.each(['unauthorized', 'redirect', 'closed'] as const)('leads to where the org moved to (%s)', async (old) => {
    const { sandbox, open, login } = await openWorld();
    const worker = open();
    const container = await containerOf(worker, null, signal());
    login.orgUrl = await sandbox.moveInstance(old);
    expect(inWords(await apply(worker, create('a')))).toEqual(['a created']);
    expect(inWords(await apply(worker, create('b')))).toEqual(['b created']);
    expect(login.renewals).toBe(1);
    expect(await containerOf(worker, container, signal())).toBe(container);
  });

  test('that knows no other URL leaves the redirect unfollowed', async () => {
    const { sandbox, open } = await openWorld();
    await sandbox.moveInstance('redirect');
    await expect(containerOf(open(), null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'redirected-elsewhere', retry: 'never' }),
    );
  });
});

describe('the org', () => {
  test('that hides a field or makes it read-only is reported by name, before and in the middle', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    sandbox.setFieldAccess('Contact', 'Email', 'hidden');
    const hidden = isMirrorError({
      actor: 'settings',
      code: 'crm-setup-incomplete',
      retry: 'never',
      words: ['Contact.Email'],
    });
    await expect(apply(worker, create('a'), create('b'))).rejects.toSatisfy(hidden);
    await expect(containerOf(worker, null, signal())).rejects.toSatisfy(hidden);
    sandbox.setFieldAccess('Contact', 'Email', 'read');
    await expect(containerOf(worker, null, signal())).rejects.toSatisfy(hidden);
    expect(failureOf(await apply(worker, create('a')))).toMatchObject({
      code: 'crm-forbidden',
      message: expect.stringMatching(/Email/),
    });
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test.each([404, 410] as const)('that retired the version is reported (%d)', async (retiredStatus) => {
    const { sandbox, open } = await openWorld({ retiredStatus });
    const worker = open('patients', { settings: { apiVersion: '60.0' } });
    expect(inWords(await apply(worker, create('a')))).toEqual(['a created']);
    sandbox.retireVersionsBelow(61);
    const retired = isMirrorError({
      actor: 'settings',
      code: 'version-retired',
      retry: 'never',
      words: ['apiVersion'],
    });
    await expect(apply(worker, create('b'))).rejects.toSatisfy(retired);
    await expect(containerOf(worker, null, signal())).rejects.toSatisfy(retired);
    await expect(readAll(worker)).rejects.toSatisfy(retired);
  });

  test('writes as many as there are by collections, and no job of the Bulk API is ever begun', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.recording.record(true);
    await writeAll(
      open(),
      Array.from({ length: 2_100 }, (_, index) => create(`r${index}`)),
    );
    expect(sandbox.records('Contact')).toHaveLength(2_100);
    expect(sandbox.recording.recorded().filter(({ url }) => url.includes('/jobs/'))).toEqual([]);
  });

  test.each(['lost-answer', 'cut-body', 'cut'])('is sent the same again after %s, which is harmless', async (kind) => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await containerOf(worker, null, signal());
    const operations = [create('a'), create('b')];
    sandbox.faults.add({ times: 1, match: { method: 'POST' }, fault: { kind } });
    await expect(apply(worker, ...operations)).rejects.toSatisfy(
      isMirrorError({ actor: 'remote', retry: 'later', code: 'connection-failed' }),
    );
    const effect = kind === 'cut' ? 'created' : 'adopted';
    expect(inWords(await apply(worker, ...operations))).toEqual([`a ${effect}`, `b ${effect}`]);
    expect(inWords(await apply(worker, ...operations))).toEqual(['a adopted', 'b adopted']);
    expect(sandbox.records('Contact')).toHaveLength(2);
  });
});

function idOf(outcome: Outcome<CrmItem> | undefined): string | null {
  return outcome?.result === 'written' ? outcome.remoteId : null;
}

async function writeAll(worker: Parameters<typeof apply>[0], operations: Operation<CrmItem>[]): Promise<void> {
  for (let start = 0; start < operations.length; start += 400) {
    await apply(worker, ...operations.slice(start, start + 400));
  }
}
