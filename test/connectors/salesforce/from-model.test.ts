import { describe, expect, test } from 'vitest';
import { toStamp } from '../../../src/connectors/owner.ts';
import type { RecordForm } from '../../../src/connectors/salesforce/description.ts';
import {
  contactIdOf,
  fieldsOf,
  propertiesOf,
  toRemoteItem,
  toRow,
} from '../../../src/connectors/salesforce/from-model.ts';
import type { SeenRecord } from '../../../src/connectors/salesforce/schemas.ts';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Write } from '../../../src/core/model/operations.ts';

const MARK = 'salesforcemark00';
const CONTACT_KEY = 'v'.repeat(32);
const AT = Date.UTC(2026, 5, 22, 8);
const CONTACT = { object: 'Contact', keyField: 'Clinic_Key__c', field: 'WhoId', relationship: 'Who' };

/** Activities with a field of each kind. */
function formOf(changes: Partial<RecordForm> = {}): RecordForm {
  return {
    stream: 'appointments',
    object: 'Event',
    keyField: 'Clinic_Key__c',
    stampField: 'Clinic_Stamp__c',
    properties: [
      { name: 'Subject', kind: 'text' },
      { name: 'Score__c', kind: 'number' },
      { name: 'Vip__c', kind: 'boolean' },
      { name: 'StartDateTime', kind: 'instant' },
    ],
    contact: CONTACT,
    refusalFields: [],
    choices: new Map([['Subject', { toValue: new Map([['Visit', 'V']]), toWord: new Map([['V', 'Visit']]) }]]),
    ...changes,
  } as RecordForm;
}

function writeOf(
  properties: Write<CrmItem>['item']['properties'],
  contactKey: string | null = CONTACT_KEY,
): Write<CrmItem> {
  const item = { properties, contactKey, contactRecreations: 1, startAt: AT };
  return { kind: 'create', recordId: 'r1', key: 'k1', sealedRecordId: 'sealed', revision: 5, item };
}

const record = (more: object = {}) => ({ Id: '00U1', ...more }) as SeenRecord;

describe('a row', () => {
  test('holds key, stamp, the properties that the item has, and the contact by its key', () => {
    const stamp = {
      sealedRecordId: 'sealed',
      contactKey: CONTACT_KEY,
      contactRecreations: 1,
      startAt: AT,
      revision: 5,
    };
    expect(toRow(formOf(), MARK, writeOf({ Subject: 'Visit', Score__c: 2 }))).toEqual({
      attributes: { type: 'Event' },
      Clinic_Key__c: 'k1',
      Clinic_Stamp__c: toStamp(MARK, stamp),
      Subject: 'V',
      Score__c: 2,
      Who: { attributes: { type: 'Contact' }, Clinic_Key__c: CONTACT_KEY },
    });
  });

  test('clears the reference of a record without contact, and where no relationship is known', () => {
    const rowOf = (form: RecordForm, write: Write<CrmItem>) => toRow(form, MARK, write);
    expect(rowOf(formOf(), writeOf({}, null))).toMatchObject({ WhoId: null });
    expect(rowOf(formOf({ contact: { ...CONTACT, relationship: null } }), writeOf({}))).toMatchObject({ WhoId: null });
    expect(rowOf(formOf({ contact: null }), writeOf({}))).not.toHaveProperty('WhoId');
  });

  test('has a checkbox false that is empty, and a text in text', () => {
    const row = toRow(formOf(), MARK, writeOf({ Vip__c: null, Subject: 7, Score__c: null, StartDateTime: null }));
    expect(row).toMatchObject({ Vip__c: false, Subject: '7', Score__c: null, StartDateTime: null });
  });
});

describe('fields of a record', () => {
  test('are read as their kinds: instants in ISO 8601, picklist values as in the mapping', () => {
    const read = propertiesOf(
      formOf(),
      record({ Subject: 'V', Score__c: 2, Vip__c: true, StartDateTime: '2027-03-01T09:00:00.000+0000' }),
    );
    expect(read).toEqual({ Subject: 'Visit', Score__c: 2, Vip__c: true, StartDateTime: '2027-03-01T09:00:00.000Z' });
  });

  test('that are absent are empty', () => {
    expect(propertiesOf(formOf(), record())).toEqual({
      Subject: null,
      Score__c: null,
      Vip__c: null,
      StartDateTime: null,
    });
  });

  test.each([{ Score__c: '2' }, { Vip__c: 'true' }, { Subject: 7 }, { StartDateTime: 'soon' }, { StartDateTime: 5 }])(
    'make the record unreadable where one holds another kind: %o',
    (value) => {
      expect(propertiesOf(formOf(), record(value))).toBeNull();
      const stamp = toStamp(MARK, { sealedRecordId: 'sealed', contactKey: null, startAt: AT });
      expect(toRemoteItem(formOf(), MARK, record({ ...value, Clinic_Stamp__c: stamp }), null)?.item).toBeNull();
    },
  );

  test('that are requested are id, key, stamp, properties, refusals and the reference', () => {
    const own = ['Id', 'Clinic_Key__c', 'Clinic_Stamp__c', 'Subject', 'Score__c', 'Vip__c', 'StartDateTime'];
    expect(fieldsOf(formOf())).toEqual([...own, 'WhoId']);
    expect(fieldsOf(formOf({ contact: null, refusalFields: ['DoNotCall'] }))).toEqual([...own, 'DoNotCall']);
  });
});

describe('a record', () => {
  const stampOf = (mark: string) =>
    toStamp(mark, { sealedRecordId: 'sealed', contactKey: CONTACT_KEY, startAt: AT, revision: 5 });

  test('without a stamp of the target is foreign', () => {
    for (const stamp of [null, '', 'damaged', stampOf('anothermark00000')]) {
      expect(toRemoteItem(formOf(), MARK, record({ Clinic_Stamp__c: stamp }), null)).toBeNull();
    }
  });

  test('belongs to the contact that it refers to, not to that of its stamp', () => {
    const read = toRemoteItem(formOf(), MARK, record({ Clinic_Stamp__c: stampOf(MARK), Clinic_Key__c: 'k1' }), null);
    expect(read).toMatchObject({
      ...{ key: 'k1', sealedRecordId: 'sealed', remoteId: '00U1', versionTag: null, revision: 5 },
      item: { contactKey: null, startAt: AT },
    });
    expect(contactIdOf(formOf(), record({ WhoId: '0031' }))).toBe('0031');
    expect(contactIdOf(formOf(), record({ WhoId: null }))).toBeNull();
    expect(contactIdOf(formOf({ contact: null }), record({ WhoId: '0031' }))).toBeNull();
  });

  test('whose key was emptied has an empty key, and refusals are reported if a field is true', () => {
    const form = formOf({ refusalFields: ['DoNotCall', 'HasOptedOutOfEmail'] });
    const read = (more: object) => toRemoteItem(form, MARK, record({ Clinic_Stamp__c: stampOf(MARK), ...more }), null);
    expect(read({ DoNotCall: true, HasOptedOutOfEmail: false })).toMatchObject({ key: '', refuses: ['DoNotCall'] });
    expect(read({ DoNotCall: 'true' })).not.toHaveProperty('refuses');
  });
});
