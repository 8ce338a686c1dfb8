import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../src/core/model/items.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import type { Appointment, Invoice, Patient } from '../../src/core/model/records.ts';
import { planTargets } from '../../src/domain/plan-targets.ts';
import { readThroughMerges, withName } from '../../src/domain/read-alone.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';
import { cycleInputOf, invoiceOf, quiet } from './cycle-input.ts';

const PATIENT = patientOf('1');
const VISIT = appointmentOf('1', { patientId: '1' });
const INVOICE = invoiceOf({ id: '1', patientId: '1', number: '1' });
const CRM_TARGETS = ['contacts', 'activities', 'deals'];

interface Answers {
  patient: Patient;
  visit: Appointment;
  invoice: Invoice;
}

/** Plans of the CRM targets for a cycle whose lists lack record 1 of each stream, and single answers show it. */
function planAlone({ patient, visit, invoice }: Answers) {
  const { before } = quiet();
  const rest = <One extends { id: string }>(all: readonly One[]) => all.filter(({ id }) => id !== '1');
  const now = {
    appointments: rest(before.appointments),
    patients: rest(before.patients),
    invoices: rest(before.invoices),
  };
  const input = cycleInputOf(quiet({ now, alone: ['found'] }));
  input.confirmations.appointments.found = [visit];
  input.confirmations.patients.found = [patient];
  input.confirmations.invoices.found = [invoice];
  const { plans } = atOnce(planTargets(input));
  return plans.filter(({ target }) => CRM_TARGETS.includes(target.id));
}

/** Properties that a change empties, and objects that it removes. */
function lossesIn({ recordId, wanted }: PlannedChange): string[] {
  if (wanted.want === 'absent') return [`${recordId} removed`];
  const { properties } = wanted.item as CrmItem;
  return Object.entries(properties).flatMap(([name, value]) => (value === null || value === '' ? [name] : []));
}

const without = <One extends object>(record: One, fields: readonly string[], empty: unknown = null) =>
  ({ ...record, ...Object.fromEntries(fields.map((field) => [field, empty])) }) as One;

describe('a record known only from a single answer', () => {
  test('empties and removes nothing, whatever fields the answer lacks', () => {
    const patients = fc.subarray(['firstName', 'lastName', 'email', 'mobilePhone', 'language']);
    const visits = fc.subarray(['patientId', 'treatmentId', 'patient']);
    const invoices = fc.subarray(['patientId', 'number', 'documentType', 'status', 'currency', 'totalAmount']);
    fc.assert(
      fc.property(patients, fc.boolean(), visits, invoices, (ofPatient, hasConsents, ofVisit, ofInvoice) => {
        const patient = without(PATIENT, ofPatient);
        const plans = planAlone({
          patient: hasConsents ? patient : { ...patient, consents: {} },
          visit: without(VISIT, ofVisit),
          invoice: without(INVOICE, ofInvoice),
        });
        const planned = plans.flatMap(({ permitted, held, refused }) => [
          ...permitted,
          ...Object.values(held).flat(),
          ...refused,
        ]);
        expect(planned.flatMap(lossesIn)).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  test('is named with its missing field, and is updated if the answer has every value of the object', () => {
    const thin = { patient: without(PATIENT, ['mobilePhone']), visit: VISIT, invoice: without(INVOICE, ['patientId']) };
    const omitted = planAlone(thin).map((plan) => [plan.target.id, plan.omitted, [...plan.omittedRecords]]);
    expect(omitted).toContainEqual(['contacts', { 'incomplete-phone': 1 }, [['1', 'incomplete-phone']]]);
    expect(omitted).toContainEqual(['deals', { 'incomplete-patientId': 1 }, [['1', 'incomplete-patientId']]]);

    const renamed = { patient: { ...PATIENT, firstName: 'Carla', email: null }, visit: VISIT, invoice: INVOICE };
    const [contacts] = planAlone(renamed);
    expect(contacts?.permitted).toMatchObject([{ recordId: '1', fields: ['firstname'] }]);
  });

  test('is excluded by a refusal that the answer contains', () => {
    const refused = { patient: { ...PATIENT, consents: { marketing: false } }, visit: VISIT, invoice: INVOICE };
    const [contacts] = planAlone(refused);
    expect(contacts?.omitted).toEqual({ 'no-consent': 1 });
    expect(contacts?.permitted).toMatchObject([{ recordId: '1', wanted: { want: 'absent' } }]);
  });
});

describe('withName', () => {
  const nameless = { found: without(PATIENT, ['firstName', 'lastName']) };
  test('an answer without a name is unusable if the list gives names', () => {
    const unusable = { recordId: '1', code: 'incomplete-record', field: 'lastName' };
    expect(withName(nameless, [nameless.found, patientOf('2')])).toEqual({ unusable });
    expect(withName(nameless, [nameless.found])).toBe(nameless);
    const named = { found: without(PATIENT, ['firstName']) };
    expect(withName(named, [patientOf('2')])).toBe(named);
    expect(withName({ absent: true }, [patientOf('2')])).toEqual({ absent: true });
  });
});

describe('readThroughMerges', () => {
  const clinic = (merges: Readonly<Record<string, string>>) => async (id: string) => {
    const mergedInto = merges[id];
    return mergedInto === undefined ? { found: patientOf(id) } : ({ absent: true, mergedInto } as const);
  };

  test('follows merges of the remaining patient too', async () => {
    expect(await readThroughMerges(clinic({}), '1')).toEqual({ id: '1', answer: { found: patientOf('1') } });
    const { id, answer } = await readThroughMerges(clinic({ 1: '2', 2: '3', 3: '4' }), '1');
    expect([id, answer]).toEqual(['4', { found: patientOf('4') }]);
  });

  test('ends if merges form a circle: the patient exists and is unusable', async () => {
    const { answer } = await readThroughMerges(clinic({ 1: '2', 2: '1' }), '1');
    expect(answer).toEqual({ unusable: { recordId: '1', code: 'merged-into-absent', field: 'merged' } });
  });
});
