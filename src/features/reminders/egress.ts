import { FactSearch, type PatientFact } from '../../model/patient-facts.ts';
import type { ReminderContent } from './channels/channel.ts';
import { type ContentInput, contentOf } from './content.ts';

/**
 * What a reminder tells of its patient beside the first name; null when it tells nothing more, as it should. Whatever the same reminder to
 * nobody would say too, as the name of a clinic that is called as the patient is, is not told of the patient.
 */
export function findDisclosedFact(content: ReminderContent, input: ContentInput): PatientFact | null {
  const { patient } = input;
  if (patient === null) return null;
  return new FactSearch().toldIn(patient, {
    texts: textsOf(content),
    mayTell: (fact) => fact === 'first-name',
    own: () => textsOf(contentOf({ ...input, patient: { ...patient, ...NOBODY } })),
  });
}

const NOBODY = {
  ...{ firstName: null, lastName: null, email: null, phone: null, mobilePhone: null },
  ...{ taxCode: null, birthDate: null, address: null },
};

function textsOf({ sender, subject, text, calendarEntry }: ReminderContent): (string | null)[] {
  return [sender, subject, text, calendarEntry?.title ?? null, calendarEntry?.location ?? null];
}
