import { setTimeout as sleep } from 'node:timers/promises';
import { MirrorError } from '../../model/errors.ts';
import { addressOf } from '../http/addresses.ts';
import { send } from '../http/call.ts';
import type { ClinicContext } from '../http/context.ts';
import { saysOutOfSequence } from '../http/errors.ts';
import { downloadPdf, type PdfDownload } from '../http/files.ts';
import { segmentsOf } from '../read/reading.ts';
import { type ClinicRecord, createReadingCalls, type ResourceCalls } from '../read/reading-calls.ts';
import { reimbursement } from '../schema/billing.ts';
import type { RecordOf } from '../schema/fields.ts';
import { sameDecimal } from './decimals.ts';
import { invoiceTwin } from './invoice-twin.ts';
import { once } from './once.ts';
import { createResourceCalls, type ResourceTools, recordGone } from './resource-calls.ts';
import { badValue, compileWriter } from './writing.ts';

type Invoice = ClinicRecord<'invoices'>;
type Section = ClinicRecord<'sections'>;
/** What somebody pays back of an invoice. */
export type Reimbursement = Partial<RecordOf<typeof reimbursement>>;

/**
 * Runs work alone for one section of a tenant, over all processes. The work's signal is raised when it is no longer alone or when
 * the caller gives up.
 */
export type SerialiseSection = <Value>(
  place: { tenantId: string; sectionId: string },
  work: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
) => Promise<Value>;

/** The calls of specification section 4.9. */
export interface InvoiceCalls extends ResourceCalls<Invoice> {
  /**
   * Creates an invoice, one at a time in each section (specification section 8). Out of sequence, it is tried again after a look
   * at the section, {@link SEQUENCE_TRIES} times. When no clear answer came, the section's last number tells whether it was made.
   * @throws MirrorError `conflict`, code `out-of-sequence`: at once when its date or the number it asks for can't be the next;
   *   `remote`, ambiguous, when nobody can tell whether it was made; `contract`, code `bad-value`, without a section
   */
  create(tenantId: string, values: Partial<Invoice>, signal: AbortSignal): Promise<Invoice>;
  /** The PDF of an invoice as a stream; null when there is none. */
  pdf(tenantId: string, id: string, signal: AbortSignal): Promise<PdfDownload | null>;
  /**
   * Adds a reimbursement. When no clear answer came, the invoice's reimbursements tell whether it was added.
   * @returns the invoice as it is afterwards
   * @throws MirrorError `conflict`: code `record-gone`, or `conflict` when its state does not allow it
   */
  addReimbursements(tenantId: string, id: string, values: Reimbursement, signal: AbortSignal): Promise<Invoice>;
}

/** How often an invoice that came out of sequence is sent. */
const SEQUENCE_TRIES = 6;
const FIRST_PAUSE_MS = 50;

/** Prepares the calls under the context's profile. */
export function createInvoiceCalls(context: ClinicContext, serialise: SerialiseSection): InvoiceCalls {
  const { profile } = context;
  const invoices = createResourceCalls(context, 'invoices');
  const { list, read, write, written } = invoices;
  const createAlone = createInSequence(context, invoices);
  const writeReimbursement = compileWriter(reimbursement, profile.reimbursement.fields, profile);

  return {
    list,
    read,
    async create(tenantId, values, signal) {
      const { sectionId } = values;
      if (typeof sectionId !== 'string') return badValue('sectionId');
      write(values);
      return serialise({ tenantId, sectionId }, (alone) => createAlone(tenantId, sectionId, values, alone), signal);
    },
    pdf: (tenantId, id, signal) =>
      downloadPdf(context, {
        label: 'clinic.invoices.pdf',
        url: addressOf(context, segmentsOf('invoices', tenantId, id, 'pdf')),
        signal,
      }),
    async addReimbursements(tenantId, id, values, signal) {
      const label = 'clinic.invoices.reimbursements';
      const url = addressOf(context, segmentsOf('invoices', tenantId, id, 'reimbursements'));
      const body = writeReimbursement(values);
      const now = async () => {
        const told = await read(tenantId, id, signal);
        return 'found' in told ? told.found : null;
      };
      const before = await now();
      if (before === null) throw recordGone(label);
      const attempt = async () =>
        written('reimburse', await send(context, { label, url, method: 'POST', body, signal }), tenantId, id, signal);
      return once(attempt, async () => {
        const after = await now();
        return after !== null && timesIn(after, values) > timesIn(before, values) ? after : null;
      });
    },
  };
}

/** Creates the next invoice of a section, for whoever is alone at it. */
function createInSequence(
  context: ClinicContext,
  { list, write, written }: Pick<ResourceTools<Invoice, Partial<Invoice>>, 'list' | 'write' | 'written'>,
) {
  const { profile } = context;
  const sections = createReadingCalls(context, 'sections');

  async function sectionOf(tenantId: string, id: string, signal: AbortSignal): Promise<Section | null> {
    for await (const { records } of sections.list(tenantId, [], signal)) {
      const found = records.find((section) => section.id === id);
      if (found !== undefined) return found;
    }
    return null;
  }

  /** One attempt; null when it came out of sequence. */
  async function post(tenantId: string, values: Partial<Invoice>, signal: AbortSignal): Promise<Invoice | null> {
    const label = 'clinic.invoices.create';
    const url = addressOf(context, segmentsOf('invoices', tenantId));
    const answer = await send(context, {
      label,
      url,
      method: 'POST',
      body: write(values),
      signal,
      accepts: (each) => saysOutOfSequence(each, profile),
    });
    return saysOutOfSequence(answer, profile) ? null : written('create', answer, tenantId, null, signal);
  }

  return async function createAlone(
    tenantId: string,
    sectionId: string,
    values: Partial<Invoice>,
    signal: AbortSignal,
  ) {
    for (let tries = 1; ; tries += 1) {
      const before = await sectionOf(tenantId, sectionId, signal);
      if (before !== null && cannotBeNext(values, before)) throw outOfSequence();
      const find =
        before === null || before.lastNumber === null
          ? null
          : () =>
              invoiceTwin(values, before, {
                section: () => sectionOf(tenantId, sectionId, signal),
                invoices: () => list(tenantId, [], signal),
              });
      const made = await once(() => post(tenantId, values, signal), find);
      if (made !== null) return made;
      if (tries === SEQUENCE_TRIES || typeof values.number === 'string') throw outOfSequence();
      await sleep(FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random() / 2), undefined, { signal });
    }
  };
}

/** An earlier date than the section's last, which no repetition helps. */
function cannotBeNext({ issueDate }: Partial<Invoice>, { lastDate }: Section): boolean {
  return typeof issueDate === 'string' && lastDate !== null && issueDate < lastDate;
}

function timesIn({ reimbursements }: Invoice, { amount = null, date = null, reference = null }: Reimbursement): number {
  const isSame = (one: Invoice['reimbursements'][number]) =>
    sameDecimal(one.amount, amount) && one.date === date && one.reference === reference;
  return reimbursements.filter(isSame).length;
}

function outOfSequence(): MirrorError {
  return new MirrorError('clinic.invoices.create: the invoice is not the next of its section', {
    actor: 'conflict',
    code: 'out-of-sequence',
    retry: 'later',
    remedy: 'give it no number, and a date that is not before the section’s last',
  });
}
