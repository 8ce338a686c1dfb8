import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import { apply, create, failureOf, inWords, openWorld, patient, remove, update } from './support.ts';

describe('a deletion', () => {
  test('succeeds for an existing, deleted or absent record, and removes no foreign record', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const outcomes = await apply(worker, create('a'), create('b'), create('c'), create('d'), create('f'));
    const id = (name: string) => idOf(outcomes.find(({ recordId }) => recordId === name));
    sandbox.deleteByHand(id('b')!);
    sandbox.editByHand(id('c')!, { Clinic_Stamp__c: 'anothertarget000.x.0.' });
    sandbox.editByHand(id('d')!, { Clinic_Key__c: null });
    sandbox.editByHand(id('f')!, { Clinic_Stamp__c: 'typed by a user' });
    const before = sandbox.counts.apiCalls;
    const deletions = ['a', 'b', 'c', 'd', 'f'].map((name) => remove(name, id(name)));
    expect(inWords(await apply(worker, ...deletions, remove('e')))).toEqual([
      'a deleted',
      'b already-gone',
      'c already-gone',
      'd deleted',
      'e already-gone',
      'f deleted',
    ]);
    expect(sandbox.counts.apiCalls - before).toBe(2);
    expect(sandbox.records('Contact').map(({ Id }) => Id)).toEqual([id('c')]);
    expect(sandbox.records('Contact', { includeDeleted: true })).toHaveLength(5);
  });

  test('finds the record under its key after a user deleted the known one', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [created] = await apply(worker, create('a'));
    sandbox.deleteByHand(idOf(created)!);
    expect(inWords(await apply(worker, update('a', patient(), idOf(created))))).toEqual(['a recreated']);
    expect(inWords(await apply(worker, { ...remove('a', idOf(created)), erase: true } as Operation<CrmItem>))).toEqual([
      'a deleted',
    ]);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test('of a forgotten patient leaves an empty record in the recycle bin; other records keep their content', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [a, b] = await apply(worker, create('a', patient({ Description: 'Text' })), create('b'));
    const erasure = { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>;
    expect(inWords(await apply(worker, erasure, remove('b', idOf(b))))).toEqual(['a deleted', 'b deleted']);
    const inBin = new Map(sandbox.records('Contact', { includeDeleted: true }).map((record) => [record.Id, record]));
    const { LastName, Email, Phone, Birthdate, Description, Score__c, Next_Visit__c, IsDeleted } = inBin.get(idOf(a)!)!;
    expect({ LastName, IsDeleted }).toEqual({ LastName: '–', IsDeleted: true });
    expect([Email, Phone, Birthdate, Description, Score__c, Next_Visit__c]).toEqual(Array(6).fill(null));
    expect(inBin.get(idOf(b)!)).toMatchObject({ LastName: 'Rossi', IsDeleted: true });
  });

  test('of a forgotten patient leaves nothing in the recycle bin if configured, not even earlier records', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { emptyBin: true } });
    const [a] = await apply(worker, create('a'));
    const [b] = await apply(worker, create('b'));
    await apply(worker, create('c'));
    const erase = (id: string, known: string | null = null) =>
      ({ ...remove(id, known), erase: true }) as Operation<CrmItem>;
    sandbox.deleteByHand(idOf(b)!);
    expect(inWords(await apply(worker, erase('a', idOf(a)), erase('b'), remove('c')))).toEqual([
      'a deleted',
      'b already-gone',
      'c deleted',
    ]);
    const left = sandbox.records('Contact', { includeDeleted: true });
    expect(left).toMatchObject([{ IsDeleted: true, LastName: 'Rossi' }]);
    expect(inWords(await apply(worker, erase('a', idOf(a)), erase('b')))).toEqual(['a already-gone', 'b already-gone']);
    expect(sandbox.records('Contact', { includeDeleted: true })).toHaveLength(1);
  });

  test('whose record remains in the recycle bin against the settings is reported, and retried', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { emptyBin: true } });
    const [a] = await apply(worker, create('a'));
    const erasure = { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>;
    sandbox.configure({ keepsBin: true });
    for (const _ of [1, 2]) {
      const outcomes = await apply(worker, erasure);
      expect(failureOf(outcomes)).toMatchObject({ code: 'bin-not-emptied', actor: 'settings', retry: 'later' });
    }
    sandbox.configure({ keepsBin: false });
    expect(inWords(await apply(worker, erasure))).toEqual(['a already-gone']);
    expect(sandbox.records('Contact', { includeDeleted: true })).toEqual([]);
  });

  test('continues if a rule of the org forbids to empty a record', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [a] = await apply(worker, create('a'));
    sandbox.addValidationRule({ object: 'Contact', field: 'LastName', refuses: '–', message: 'no' });
    expect(inWords(await apply(worker, { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>))).toEqual([
      'a deleted',
    ]);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test('of more than one collection takes them all', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await apply(worker, ...Array.from({ length: 250 }, (_, index) => create(`r${index}`)));
    const outcomes = await apply(worker, ...Array.from({ length: 250 }, (_, index) => remove(`r${index}`)));
    expect(outcomes.every((outcome) => outcome.result === 'deleted' && outcome.effect === 'deleted')).toBe(true);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test.each([
    ['UNABLE_TO_LOCK_ROW', 1, 'a deleted'],
    ['UNABLE_TO_LOCK_ROW', 2, 'a record-locked'],
    ['ENTITY_IS_DELETED', 1, 'a already-gone'],
    ['DELETE_FAILED', 1, 'a deletion-refused'],
  ])('that meets %s %d times ends as: %s', async (statusCode, times, words) => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await apply(worker, create('a'));
    const row = { success: false, errors: [{ statusCode, message: 'Canary', fields: [] }] };
    const body = { compositeResponse: [{ referenceId: 'part0', httpStatusCode: 200, body: [row] }] };
    sandbox.faults.add({ after: 1, times, match: { method: 'POST' }, fault: { kind: 'status', status: 200, body } });
    expect(inWords(await apply(worker, remove('a')))).toEqual([words]);
  });
});

function idOf(outcome: Outcome<CrmItem> | undefined): string | null {
  return outcome?.result === 'written' ? outcome.remoteId : null;
}
