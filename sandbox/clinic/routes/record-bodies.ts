import { z } from 'zod';
import { DOCUMENT_TYPES, type Reimbursement } from '../data/billing-records.ts';
import { EPISODE_STATUSES, REPORT_STATUSES } from '../data/care-records.ts';
import { isDate, parseInstant } from '../data/zone.ts';
import type { EpisodeInput } from '../rules/episodes.ts';
import { badRequest } from '../rules/errors.ts';
import type { InvoiceInput } from '../rules/invoices.ts';
import { addressBody, parseBody } from './bodies.ts';

const text = z.string().nullish().transform(orNull);
const date = z.string().refine(isDate, 'must be a date');
const instant = z
  .string()
  .refine((value) => parseInstant(value) !== undefined, 'must be an ISO 8601 date-time with offset');
const money = z.number().nonnegative().refine(isCents, 'must have at most two decimals');

const doctorBody = z.object({
  id: z.string(),
  taxCode: text,
  role: text,
  share: z.number().min(0).max(100).nullish().transform(orNull),
});

const practiceBody = z.object({
  practiceId: z.string().optional(),
  treatmentId: z.string(),
  description: z.string(),
  quantity: z.number().positive().default(1),
  price: money,
  executedAt: instant.nullish().transform(orNull),
  status: text,
  doctors: z.array(doctorBody).default([]),
});

const episodeBody = z.object({
  patientId: z.string(),
  title: text,
  openedAt: instant,
  closedAt: instant.nullish().transform(orNull),
  status: z.enum(EPISODE_STATUSES).optional(),
  locationId: text,
  appointmentId: text,
  practices: z.array(practiceBody).default([]),
});

const itemBody = z.object({
  description: z.string().min(1),
  quantity: z.number().positive(),
  unitPrice: money,
  discount: money.default(0),
  vatRate: z.number().min(0).max(100),
  // Any word: the specification's list of codes is open.
  vatExemptionCode: text,
  LinkedPractices: z
    .array(z.object({ episodeId: z.string(), practiceId: z.string() }))
    .nullish()
    .transform(orNull),
});

const invoiceBody = z.object({
  sectionId: z.string(),
  number: z.string().optional(),
  documentType: z.enum(DOCUMENT_TYPES).default('Invoice'),
  issueDate: date,
  dueDate: date.nullish().transform(orNull),
  patientId: z.string(),
  customer: z
    .object({ name: z.string(), taxCode: text, vatNumber: text, address: addressBody.nullish().transform(orNull) })
    .optional(),
  currency: z.literal('EUR').default('EUR'),
  withholdingTax: money.default(0),
  Items: z.array(itemBody).min(1),
});

const reimbursementBody = z.object({
  amount: money.refine((amount) => amount > 0, 'must be more than 0'),
  date,
  payer: text,
  method: text,
  reference: text,
  notes: text,
});

const reportBody = z.object({
  patientId: z.string(),
  episodeId: text,
  practiceId: text,
  doctorId: text,
  title: z.string().min(1),
  type: text,
  reportDate: date,
  status: z.enum(REPORT_STATUSES).default('Final'),
  fileName: z.string().min(1).optional(),
});

/** Metadata that a client sends with a report's file. */
export type ReportInput = z.infer<typeof reportBody>;

/** Throws ClinicError 400. */
export function readEpisode(body: unknown): EpisodeInput {
  const { status, practices, ...read } = parseBody(episodeBody, body);
  return {
    ...read,
    status,
    practices: practices.map((practice) => ({ ...practice, practiceId: practice.practiceId })),
  };
}

/** Throws ClinicError 400. */
export function readInvoice(body: unknown): InvoiceInput {
  const { number, customer, ...read } = parseBody(invoiceBody, body);
  return { ...read, number, customer };
}

/** One reimbursement or a list of them. Throws ClinicError 400. */
export function readReimbursements(body: unknown): Omit<Reimbursement, 'id'>[] {
  const read = parseBody(z.union([reimbursementBody, z.array(reimbursementBody).min(1)]), body);
  return Array.isArray(read) ? read : [read];
}

/** Throws ClinicError 400. */
export function readReport(metadata: unknown): ReportInput {
  return parseBody(reportBody, metadata);
}

/** Throws ClinicError 400 when a text is not JSON. */
export function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw badRequest([{ field: 'metadata', message: 'must be JSON' }]);
  }
}

function orNull<T>(value: T | null | undefined): T | null {
  return value ?? null;
}

function isCents(amount: number): boolean {
  return Math.abs(Math.round(amount * 100) - amount * 100) < 1e-6;
}
