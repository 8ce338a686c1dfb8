import { setTimeout as delay } from 'node:timers/promises';
import {
  cents,
  type Invoice,
  type InvoiceItem,
  itemAmounts,
  type Reimbursement,
  type Section,
  totalsOf,
} from '../data/billing-records.ts';
import type { ClinicData } from '../data/clinic-data.ts';
import type { Entry } from '../data/documents.ts';
import { customerOf } from '../data/seed-records.ts';
import { ClinicError, conflict, notFound, ruleBroken } from './errors.ts';

/** How invoices are numbered; changed on demand. */
export interface InvoiceRules {
  /** The answer to a creation that is out of its section's order. */
  outOfSequenceStatus: 400 | 409 | 422;
  /** How long a section is busy with one creation; another one meanwhile is out of sequence. */
  invoiceCreationMs: number;
}

/** What a writer may say of an invoice. */
export interface InvoiceInput
  extends Pick<Invoice, 'sectionId' | 'documentType' | 'issueDate' | 'dueDate' | 'patientId' | 'currency'> {
  /** The number that the client expects; if undefined, the clinic chooses. */
  number: string | undefined;
  customer: Invoice['customer'] | undefined;
  withholdingTax: number;
  Items: Omit<InvoiceItem, 'id' | 'netAmount' | 'vatAmount' | 'totalAmount'>[];
}

/** Each throws ClinicError: 404 unknown, 409 for the state, 422 for a broken rule. */
export interface InvoiceOperations {
  get(tenantId: string, id: string): Entry<Invoice>;
  /**
   * Takes the next number of the section. Refused as out of sequence when the section is busy with another creation,
   * when the number is not the next one, or when the date lies before the section's last.
   */
  create(tenantId: string, input: InvoiceInput): Promise<Entry<Invoice>>;
  reimburse(tenantId: string, id: string, given: readonly Omit<Reimbursement, 'id'>[]): Entry<Invoice>;
}

export function createInvoiceOperations(data: ClinicData, rules: InvoiceRules): InvoiceOperations {
  const busy = new Set<string>();

  function get(tenantId: string, id: string): Entry<Invoice> {
    const found = data.invoices.get(tenantId, id);
    if (found === undefined) throw notFound('invoice');
    return found;
  }

  async function create(tenantId: string, input: InvoiceInput): Promise<Entry<Invoice>> {
    checkReferences(data, tenantId, input);
    const section = data.sections.get(tenantId, input.sectionId);
    if (section === undefined) throw ruleBroken('sectionId', 'Unknown section');
    if (busy.has(input.sectionId)) throw outOfSequence(rules, 'The section is busy with another invoice');
    checkOrder(rules, section.record, input);
    busy.add(input.sectionId);
    try {
      if (rules.invoiceCreationMs > 0) await delay(rules.invoiceCreationMs);
      return commit(tenantId, section, input);
    } finally {
      busy.delete(input.sectionId);
    }
  }

  function commit(tenantId: string, section: Entry<Section>, input: InvoiceInput): Entry<Invoice> {
    const now = data.clock();
    const { record: series } = section;
    const record = invoiceOf(data, tenantId, series, input);
    const lastNumber = series.nextNumber;
    data.sections.save({
      ...section,
      record: { ...series, lastNumber, nextNumber: lastNumber + 1, lastDate: input.issueDate },
      updatedAt: now,
    });
    const created = {
      tenantId,
      record,
      sortAt: data.zone.startOfDay(record.issueDate),
      createdAt: now,
      updatedAt: now,
    };
    data.invoices.save(created);
    return created;
  }

  function reimburse(tenantId: string, id: string, given: readonly Omit<Reimbursement, 'id'>[]): Entry<Invoice> {
    const current = get(tenantId, id);
    const { record } = current;
    if (record.status === 'Draft' || record.status === 'Cancelled') {
      throw conflict('status_conflict', `An invoice that is ${record.status} cannot be reimbursed`);
    }
    const added = given.map((one) => ({ id: data.ids.next('rmb'), ...one }));
    const reimbursements = [...record.reimbursements, ...added];
    const reimbursedAmount = cents(reimbursements.reduce((sum, { amount }) => sum + amount, 0));
    if (reimbursedAmount > record.totalAmount) throw ruleBroken('amount', 'More than the invoice comes to');
    const changed = { ...current, record: { ...record, reimbursements, reimbursedAmount }, updatedAt: data.clock() };
    data.invoices.save(changed);
    return changed;
  }

  return { get, create, reimburse };
}

function checkOrder(rules: InvoiceRules, section: Section, { number, issueDate }: InvoiceInput): void {
  if (!section.isActive) throw ruleBroken('sectionId', 'The section is closed');
  if (number !== undefined && number !== numberOf(section)) {
    throw outOfSequence(rules, 'The number is not the next one');
  }
  if (section.lastDate !== null && issueDate < section.lastDate) {
    throw outOfSequence(rules, 'The date lies before the last invoice of the section');
  }
}

function outOfSequence({ outOfSequenceStatus }: InvoiceRules, message: string): ClinicError {
  return new ClinicError(outOfSequenceStatus, 'out_of_sequence', message);
}

function numberOf(section: Section): string {
  return `${section.nextNumber}/${section.code}`;
}

function invoiceOf(data: ClinicData, tenantId: string, section: Section, input: InvoiceInput): Invoice {
  const { number: _, customer, Items, ...said } = input;
  const items = Items.map((item) => ({ id: data.ids.next('itm'), ...item, ...itemAmounts(item) }));
  const patient = data.patients.get(tenantId, input.patientId);
  if (patient === undefined) throw ruleBroken('patientId', 'Unknown patient');
  return {
    id: data.ids.next('inv'),
    number: numberOf(section),
    ...said,
    issuerId: section.issuerId,
    customer: customer ?? customerOf(patient),
    status: 'Issued',
    ...totalsOf(items),
    paidAmount: 0,
    reimbursedAmount: 0,
    Items: items,
    payments: [],
    reimbursements: [],
  };
}

function checkReferences(data: ClinicData, tenantId: string, input: InvoiceInput): void {
  if (data.patients.get(tenantId, input.patientId) === undefined) throw ruleBroken('patientId', 'Unknown patient');
  for (const [index, item] of input.Items.entries()) {
    for (const { episodeId, practiceId } of item.LinkedPractices ?? []) {
      const episode = data.episodes.get(tenantId, episodeId);
      if (episode?.record.practices.some((practice) => practice.practiceId === practiceId) !== true) {
        throw ruleBroken(`Items.${index}.LinkedPractices`, 'Unknown episode or practice');
      }
    }
  }
}
