import { describe, expect, test } from 'vitest';
import type { CrmItem, PropertyValue, RefusedThere } from '../../src/core/model/items.ts';
import type { Link, RemoteItem } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { Patient } from '../../src/core/model/records.ts';
import type { Snapshot } from '../../src/core/model/snapshots.ts';
import type { CycleInput, TargetInput } from '../../src/domain/cycle-input.ts';
import { crmForm } from '../../src/domain/item-forms.ts';
import type { Mapped } from '../../src/domain/mapping/contract.ts';
import { refusedThere, retainRefusals } from '../../src/domain/refusals.ts';
import { nothingMissing } from '../../src/engine/absence.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { patientOf } from '../tenant/world.ts';

const REFUSALS = [
  { property: 'optedOut', by: 'email' },
  { property: 'doNotCall', by: null },
];
const NAMES = ['doNotCall', 'email', 'name', 'optedOut'];
const identity = createTargetIdentity(new Uint8Array(32), 'clinic', 'contacts', crmForm('patients', NAMES));

type Values = Record<string, PropertyValue>;

function itemOf(values: Values): CrmItem {
  const properties = { name: 'Anna', email: 'a@example.org', optedOut: false, doNotCall: false, ...values };
  return { properties, contactKey: null, startAt: 0 };
}

function linkOf(recordId: string, values: Values): [string, Link] {
  const object = { versionTag: null, startAt: 0, endAt: 0, idAttempt: 0, remoteId: recordId, drift: null };
  return [recordId, { recordId, fingerprint: identity.fingerprint(itemOf(values)), ...object }];
}

/** An object as the CRM shows it. */
function shown(recordId: string, values: Values): RemoteItem<CrmItem> {
  const sealedRecordId = identity.sealedRecordId(recordId);
  return { key: identity.key(recordId, 0), sealedRecordId, remoteId: recordId, versionTag: null, item: itemOf(values) };
}

describe('refusals made in the CRM', () => {
  function found(
    items: RemoteItem<CrmItem>[],
    links: [string, Link][],
    { pending = [], before = {} }: { pending?: string[]; before?: RefusedThere } = {},
  ) {
    const written = { links: new Map(links), pending: new Map(pending.map((id) => [id, {}])), identity };
    return atOnce(refusedThere(items, REFUSALS, written, before));
  }

  test('are refusals that clinic-mirror did not write, by each property, even if other fields differ', () => {
    const items = [shown('1', { optedOut: true, name: 'Eva' }), shown('2', { doNotCall: true }), shown('3', {})];
    const links = [linkOf('1', {}), linkOf('2', {}), linkOf('3', {})];
    expect(found(items, links)).toEqual({ optedOut: ['1'], doNotCall: ['2'] });
  });

  test('include unmapped refusals, as the CRM shows them', () => {
    const unsubscribed = { ...shown('1', {}), refuses: ['unsubscribed'] };
    const links = [linkOf('1', {}), linkOf('2', {})];
    expect(found([unsubscribed, shown('2', {})], links)).toEqual({ unsubscribed: ['1'], optedOut: [], doNotCall: [] });
    expect(found([shown('1', {})], links, { before: { unsubscribed: ['1'] } })).toEqual({
      optedOut: [],
      doNotCall: [],
    });
  });

  test('exclude refusals written by clinic-mirror, contacts with the e-mail address of such a refusal, and pending writes', () => {
    const refused = { optedOut: true };
    const relative = { ...refused, email: 'A@example.org ', name: 'Bruno' };
    const links = [linkOf('1', refused), linkOf('2', { ...relative, optedOut: false }), linkOf('3', { email: 'c' })];
    const items = [shown('2', relative), shown('1', refused), shown('3', { ...refused, email: 'c' })];
    expect(found(items, links, { pending: ['3'] })).toEqual({ optedOut: [], doNotCall: [] });
  });

  test('stay until the CRM shows otherwise; contacts without a link are forgotten', () => {
    const before = { optedOut: ['1', '2', '3', '4'] };
    const links = [linkOf('1', { optedOut: true }), linkOf('2', { optedOut: true }), linkOf('3', {})];
    expect(found([shown('1', { optedOut: true }), shown('2', {})], links, { before })).toMatchObject({
      optedOut: ['1', '3'],
    });
  });

  test('include every refusal without a known write, as after the loss of all state', () => {
    expect(found([shown('1', { optedOut: true }), shown('2', {})], [])).toEqual({ optedOut: ['1'], doNotCall: [] });
  });
});

describe('refusals in addition to the patient’s own', () => {
  const patients = ['1', '2', '3'].map((id) => patientOf(id));
  const complete: Snapshot<Patient> = { records: new Map(), unusable: [], unidentified: 0, completeness: 'complete' };

  interface Choice {
    mapped?: Record<string, Mapped | null>;
    links?: [string, Link][];
    refusedThere?: RefusedThere;
    snapshot?: Snapshot<Patient>;
    toConfirm?: string[];
    vanished?: string[];
    holds?: object[];
  }

  /** Whether each patient's contact is to be opted out. */
  function kept(choice: Choice, values: Values = {}): boolean[] {
    const {
      mapped = {},
      links = [],
      refusedThere = {},
      snapshot = complete,
      toConfirm = [],
      vanished = [],
      holds = [],
    } = choice;
    const input = {
      target: { id: 'contacts', identity, crm: { refusals: REFUSALS } },
      state: { links: new Map(links), pending: new Map() },
      stored: { refusedThere },
      toConfirm,
    } as unknown as TargetInput;
    const cycle = {
      clinicReading: { streams: { patients: { snapshot } } },
      confirmations: { patients: { ...nothingMissing<Patient>(), vanished: new Set(vanished) } },
      holds,
    } as unknown as CycleInput;
    const mappedOf = ({ id }: Patient) => (id in mapped ? mapped[id]! : { properties: itemOf(values).properties });
    const keep = atOnce(retainRefusals(input, cycle, patients, mappedOf));
    return patients.map(({ id }) => keep(id, itemOf(values).properties).optedOut === true);
  }

  const refused = { properties: itemOf({ optedOut: true }).properties };

  test('a refusal covers every patient with the same e-mail address, if the target holds the refusing one', () => {
    expect(kept({ mapped: { '1': refused } })).toEqual([true, true, true]);
    expect(kept({ mapped: { '1': refused } }, { email: 'other@example.org' })).toEqual([false, false, false]);
    expect(kept({ mapped: { '1': refused } }, { email: null })).toEqual([false, false, false]);
    expect(kept({ mapped: { '1': null } })).toEqual([false, false, false]);
  });

  test('a refusal in the CRM covers every patient with the e-mail address of its contact', () => {
    expect(kept({ refusedThere: { optedOut: ['2'] } })).toEqual([true, true, true]);
    expect(kept({ refusedThere: { optedOut: ['2'] } }, { email: null })).toEqual([false, true, false]);
  });

  test.each<[string, Choice, boolean]>([
    ['all are known', {}, false],
    ['the list is partial', { snapshot: { ...complete, completeness: 'partial', reason: 'page-cap' } }, true],
    ['a row can’t be used', { snapshot: { ...complete, unidentified: 1 } }, true],
    ['one is missing without proof', { toConfirm: ['9'] }, true],
    ['one is missing and vanished', { toConfirm: ['9'], vanished: ['9'] }, false],
    ['a removal waits for approval', { holds: [{ target: 'contacts', state: 'open' }] }, true],
    ['a removal was approved', { holds: [{ target: 'contacts', state: 'approved' }] }, false],
    ['a removal of another target waits', { holds: [{ target: 'others', state: 'open' }] }, false],
    ['one can’t be mapped', { mapped: { '1': { fault: 'history-unread' } } }, true],
  ])('a refusal written for a relative stays if %s: %s', (_, choice, stays) => {
    const link = linkOf('2', { optedOut: true, name: 'Before' });
    expect(kept({ ...choice, links: [link, linkOf('3', {})] })).toEqual([false, stays, false]);
    const elsewhere = linkOf('2', { optedOut: true, email: 'other@example.org' });
    expect(kept({ ...choice, links: [elsewhere] })).toEqual([false, false, false]);
  });
});
