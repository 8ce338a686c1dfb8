import { expect, test } from 'vitest';
import { sharedTexts } from '../../../src/clinic/read/shared-texts.ts';
import type { Appointment } from '../../../src/model/records.ts';
import { appointmentOf } from '../../sync/arbitraries.ts';

/** As it comes from the network: each patient is an object of its own. */
function received(id: string, lastName: string): Appointment {
  return { ...appointmentOf(id, { patientId: 'p' }), patient: { id: 'p', firstName: 'Anna', lastName } };
}

test('records of one reading share a patient who is written alike, and tell what they told', () => {
  const share = sharedTexts();
  const records = [received('1', 'Rossi'), received('2', 'Rossi'), received('3', 'Bianchi'), received('4', 'Rossi')];
  const before = structuredClone(records);
  for (const record of records) expect(share({ record })).toEqual({ record });
  expect(records).toEqual(before);
  const [first, second, third] = records;
  expect(second?.patient).toBe(first?.patient);
  expect(third?.patient?.lastName).toBe('Bianchi');
});

test('rows that are set aside, and records that tell nothing, stay as they are', () => {
  const share = sharedTexts();
  const setAside = { recordId: null, code: 'missing-id', field: 'id' };
  expect(share({ setAside })).toEqual({ setAside });
  const record: Appointment = {
    ...appointmentOf('1'),
    patientId: null,
    patient: null,
    locationId: null,
    rawStatus: null,
  };
  expect(share({ record: { ...record } })).toEqual({ record });
});
