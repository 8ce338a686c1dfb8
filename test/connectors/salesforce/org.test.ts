import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../src/log/logger.ts';
import { isMirrorError } from './expect.ts';
import {
  apply,
  create,
  FIELDS,
  failureOf,
  inWords,
  openWorld,
  PROPERTIES,
  patient,
  readAll,
  remove,
  signal,
} from './support.ts';

describe('before anything is written', () => {
  test('all that the org lacks is named at once', async () => {
    const key = FIELDS.Contact![0]!;
    const { open, sandbox } = await openWorld({
      customFields: {
        Contact: [
          { ...key, externalId: false, length: 20 },
          { name: 'Clinic_Stamp__c', type: 'string', length: 80 },
        ],
      },
    });
    const properties = [
      { name: 'Birthdate', kind: 'text' },
      { name: 'Nowhere__c', kind: 'text' },
      { name: 'Name', kind: 'text' },
    ] as const;
    const words = [
      'External ID',
      'at least 32',
      'Clinic_Stamp__c must be text of 255',
      'Birthdate is date',
      'Nowhere__c',
      'Contact.Name must be editable',
    ];
    await expect(open('patients', { properties }).prepare(null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'crm-setup-incomplete', retry: 'never', words }),
    );
    expect(sandbox.counts.apiCalls).toBe(1);
  });

  test.each([
    ['patients', { object: 'Patient__c' }, ['Patient__c']],
    ['appointments', { contactField: 'OwnerId' }, ['Event.OwnerId', 'Contact']],
    ['appointments', { contactKeyField: 'Other_Key__c' }, ['Contact.Other_Key__c']],
    ['invoices', { contactField: 'Nobody__c' }, ['Opportunity.Nobody__c']],
  ] as const)('a target of %s with %j is refused by name', async (stream, settings, words) => {
    const { open } = await openWorld();
    await expect(open(stream, { settings }).prepare(null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'crm-setup-incomplete', words }),
    );
  });

  test('contacts without an account are said to be private, as they are', async () => {
    const { open, sandbox } = await openWorld();
    const log = { ...silentLogger, warn: vi.fn() };
    const account = sandbox.addByHand('Account', { Name: 'Patients' }).Id;
    const properties = [...PROPERTIES.patients, { name: 'AccountId', kind: 'text' }] as const;
    await open('patients', { log, properties }).prepare(null, signal());
    expect(log.warn).not.toHaveBeenCalled();
    await open('patients', { log }).prepare(null, signal());
    expect(log.warn).toHaveBeenCalledWith({ unmapped: 'AccountId' }, expect.stringContaining('map AccountId'));
    await apply(open(), create('alone'));
    await apply(open('patients', { properties }), create('shared', patient({ AccountId: account })));
    const seenBy = (as: string) => sandbox.records('Contact', { as }).map((record) => record.AccountId);
    expect(seenBy('doctor@clinic.example')).toEqual([account]);
    expect(seenBy('integration@clinic.example')).toEqual([null, account]);
  });

  test('a login that brings no address needs it in the settings', async () => {
    const { open, login, sandbox } = await openWorld();
    const { baseUrl: _, ...bare } = login;
    await expect(open('patients', { login: bare }).prepare(null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'authorization', code: 'instance-unknown' }),
    );
    const settled = open('patients', { login: bare, settings: { instanceUrl: `${sandbox.url}/` } });
    expect(await settled.prepare(null, signal())).toMatch(/^00D\w{15}\/Contact$/);
  });
});

describe('the wire', () => {
  test('no value of a patient is in an address, a header or an error', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.recording.record(true);
    const worker = open();
    const canary = patient({ LastName: 'Canary', Email: 'canary@clinic.example', Description: 'Canary' });
    sandbox.addValidationRule({ object: 'Contact', field: 'LastName', refuses: 'canary@@', message: 'No canary@@' });
    const outcomes = await apply(worker, create('a', canary), create('b', patient({ LastName: 'canary@@' })));
    await readAll(worker);
    await apply(worker, remove('a'));
    const outside = sandbox.recording.recorded().map(({ url, headers }) => JSON.stringify([url, headers]));
    expect(outside.length).toBeGreaterThan(3);
    expect(outside.join().toLowerCase()).not.toContain('canary');
    expect(String(failureOf(outcomes).message).toLowerCase()).not.toContain('canary');
  });

  test('a portal that answers in place of the org is told so', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await worker.prepare(null, signal());
    sandbox.faults.add({ times: 1, fault: { kind: 'html' } });
    await expect(apply(worker, create('a'))).rejects.toSatisfy(isMirrorError({ actor: 'remote', code: 'html-answer' }));
  });

  test.each([
    [503, 'server-unavailable'],
    [500, 'server-error'],
  ])('%d for the whole is %s for the target', async (status, code) => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await worker.prepare(null, signal());
    sandbox.faults.add({ times: 1, fault: { kind: 'status', status } });
    await expect(apply(worker, create('a'), remove('b'))).rejects.toSatisfy(
      isMirrorError({ actor: 'remote', code, retry: 'later' }),
    );
    expect(inWords(await apply(worker, create('a'), remove('b')))).toEqual(['a created', 'b already-gone']);
  });

  test('too many calls at once are waited for ten seconds at first, the last of the day an hour', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { stopAtShare: 1 } });
    await worker.prepare(null, signal());
    sandbox.configure({ concurrentCalls: 0 });
    await expect(apply(worker, create('a'))).rejects.toMatchObject({
      code: 'calls-at-once',
      retryAfterMs: 10_000,
      growsToMs: 60_000,
    });
    sandbox.configure({ concurrentCalls: 25 });
    sandbox.spendApiCalls(99_500);
    expect(inWords(await apply(worker, create('a')))).toEqual(['a created']);
    sandbox.configure({ dailyApiCalls: 99_502 });
    await expect(apply(worker, create('b'), create('c'))).rejects.toMatchObject({
      code: 'api-limit-reached',
      retryAfterMs: 3_600_000,
    });
  });

  test('an answer that lacks a part, or rows, says nothing of them', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await worker.prepare(null, signal());
    const answers = [
      { compositeResponse: [] },
      { compositeResponse: [{ referenceId: 'part0', httpStatusCode: 200, body: [{ success: true, id: '003' }] }] },
    ];
    const codes: string[] = [];
    for (const body of answers) {
      sandbox.faults.add({ times: 1, fault: { kind: 'status', status: 200, body } });
      const outcomes = await apply(worker, create('a'), create('b'));
      codes.push(...outcomes.map((outcome) => (outcome.result === 'failed' ? outcome.error.code : outcome.result)));
      expect(outcomes.every((outcome) => outcome.result === 'failed' && outcome.error.ambiguous)).toBe(true);
    }
    expect(codes).toEqual(['answer-missing', 'answer-missing', 'unexpected-answer', 'unexpected-answer']);
  });

  test('after a call without an answer in time the collections are halved', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { timeoutMs: 2_000 });
    await worker.prepare(null, signal());
    const operations = Array.from({ length: 150 }, (_, index) => create(`r${index}`));
    sandbox.faults.add({ times: 1, fault: { kind: 'latency', ms: 3_000 } });
    await expect(apply(worker, ...operations)).rejects.toSatisfy(isMirrorError({ actor: 'remote', code: 'timeout' }));
    sandbox.recording.record(true);
    expect((await apply(worker, ...operations)).every(({ result }) => result === 'written')).toBe(true);
    const [request] = sandbox.recording.recorded();
    const parts = JSON.parse(request!.body).compositeRequest as { body?: { records: unknown[] } }[];
    expect(parts.flatMap(({ body }) => body?.records.length ?? [])).toEqual([100, 50]);
  });
});
