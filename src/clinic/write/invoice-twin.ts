import { MirrorError } from '../../model/errors.ts';
import type { ListPage } from '../read/lists.ts';
import type { ClinicRecord } from '../read/reading-calls.ts';
import { sameDecimal } from './decimals.ts';

type Invoice = ClinicRecord<'invoices'>;
type Section = ClinicRecord<'sections'>;

/**
 * Finds the invoice that a create without a clear answer has made: one of the same section, patient, date and lines, with one of
 * the numbers that the section has given out since.
 * @param before the section before the create; its `lastNumber` must be told
 * @returns null when none was made
 * @throws MirrorError `remote`, code `fate-unknown`, ambiguous, when an invoice is the same and its number does not tell
 */
export async function invoiceTwin(
  values: Partial<Invoice>,
  before: Section,
  now: { section(): Promise<Section | null>; invoices(): AsyncIterable<ListPage<Invoice>> },
): Promise<Invoice | null> {
  const first = before.lastNumber;
  const last = (await now.section())?.lastNumber ?? null;
  if (first === null || last === null) throw fateUnknown();
  if (first === last) return null;
  let isDoubtful = false;
  for await (const { records } of now.invoices()) {
    for (const record of records.filter((each) => isSame(each, values))) {
      const numbers = numbersIn(record.number);
      if (numbers.some((number) => number > first && number <= last)) return record;
      isDoubtful ||= numbers.length === 0;
    }
  }
  if (isDoubtful) throw fateUnknown();
  return null;
}

function isSame(invoice: Invoice, values: Partial<Invoice>): boolean {
  const items = values.items ?? [];
  const sameLine = (index: number) => {
    const [one, other] = [invoice.items[index], items[index]];
    return (
      one?.description === other?.description &&
      sameDecimal(one?.quantity ?? null, other?.quantity ?? null) &&
      sameDecimal(one?.unitPrice ?? null, other?.unitPrice ?? null)
    );
  };
  return (
    invoice.sectionId === values.sectionId &&
    invoice.patientId === (values.patientId ?? null) &&
    invoice.issueDate === (values.issueDate ?? null) &&
    invoice.items.length === items.length &&
    items.every((_, index) => sameLine(index))
  );
}

/** Every whole number in an invoice's number: `12/A`, `2026-000012`. */
function numbersIn(number: string | null): number[] {
  return (number?.match(/\d+/g) ?? []).map(Number);
}

function fateUnknown(): MirrorError {
  return new MirrorError('clinic.invoices.create: nobody can tell whether the invoice was made', {
    actor: 'remote',
    code: 'fate-unknown',
    retry: 'never',
    ambiguous: true,
    remedy: 'look in the clinic before you create it again',
  });
}
