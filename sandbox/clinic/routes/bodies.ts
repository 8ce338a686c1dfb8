import { z } from 'zod';
import { APPOINTMENT_STATUSES, type PatientDetails } from '../data/records.ts';
import { isDate, parseInstant, type Zone } from '../data/zone.ts';
import { badRequest } from '../rules/errors.ts';
import type { AppointmentInput } from '../rules/operations.ts';

const optionalText = z.string().nullish();

const appointmentBody = z.object({
  agendaId: z.string(),
  patientId: optionalText,
  treatmentId: optionalText,
  start: z.string(),
  end: z.string().optional(),
  durationMinutes: z.number().int().positive().optional(),
  allDay: z.boolean().optional(),
  notes: optionalText,
  externalId: optionalText,
  status: z.string().optional(),
});

const statusBody = z.object({ status: z.enum(APPOINTMENT_STATUSES), reason: z.string().optional() });

const paymentBody = z.object({
  amount: z.number().positive(),
  currency: z.string().length(3),
  method: z.string().min(1),
  paidAt: z.string().optional(),
  reference: optionalText,
});

/** A postal address in any body. */
export const addressBody = z.object({
  street: z.string(),
  city: z.string(),
  province: z.string(),
  postalCode: z.string(),
  country: z.string(),
});

const patientBody = z.object({
  firstName: z.string().min(1),
  lastName: z.string().min(1),
  phone: optionalText,
  email: z.email().nullish(),
  taxCode: optionalText,
  birthDate: z.string().refine(isDate, 'must be a date').nullish(),
  birthPlace: optionalText,
  gender: z.enum(['M', 'F', 'Other', 'Unknown']).default('Unknown'),
  mobilePhone: optionalText,
  address: addressBody.nullish(),
  vatNumber: optionalText,
  notes: optionalText,
  externalId: optionalText,
  consents: z
    .record(z.string(), z.object({ granted: z.boolean(), date: z.string().nullable().default(null) }))
    .default({}),
  isActive: z.boolean().default(true),
});

/** What a patient's writer may say; what is left out becomes null, since PUT replaces. */
export interface PatientInput {
  firstName: string;
  lastName: string;
  phone: string | null;
  email: string | null;
  details: PatientDetails;
}

/** Reads a body by a schema. Throws ClinicError 400 that names the fields. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw badRequest(parsed.error.issues.map((issue) => ({ field: issue.path.join('.'), message: issue.message })));
}

/** Reads an appointment's body, and the status when it states one. Throws ClinicError 400. */
export function readAppointment(body: unknown, zone: Zone): { input: AppointmentInput; status: string | undefined } {
  const read = parseBody(appointmentBody, body);
  const allDay = read.allDay ?? false;
  const startAt = readTime('start', read.start, allDay, zone);
  const input: AppointmentInput = {
    agendaId: read.agendaId,
    patientId: read.patientId ?? null,
    treatmentId: read.treatmentId ?? null,
    startAt,
    endAt: readEnd(read, startAt, allDay, zone),
    allDay,
    notes: read.notes ?? null,
    externalId: read.externalId ?? null,
  };
  return { input, status: read.status };
}

function readEnd(body: z.infer<typeof appointmentBody>, startAt: number, allDay: boolean, zone: Zone): number {
  if (body.end !== undefined) return readTime('end', body.end, allDay, zone);
  if (body.durationMinutes !== undefined) return startAt + body.durationMinutes * 60_000;
  throw badRequest([{ field: 'end', message: 'end or durationMinutes is required' }]);
}

function readTime(field: string, text: string, allDay: boolean, zone: Zone): number {
  if (allDay && isDate(text)) return zone.startOfDay(text);
  const instant = allDay ? undefined : parseInstant(text);
  if (instant !== undefined) return instant;
  const wanted = allDay ? 'a date, because allDay is true' : 'an ISO 8601 date-time with offset';
  throw badRequest([{ field, message: `must be ${wanted}` }]);
}

/** Throws ClinicError 400. */
export function readStatus(body: unknown): z.infer<typeof statusBody> {
  return parseBody(statusBody, body);
}

/** Throws ClinicError 400. */
export function readPayment(body: unknown): {
  amount: number;
  currency: string;
  method: string;
  reference: string | null;
  paidAt?: number;
} {
  const { paidAt, reference = null, ...payment } = parseBody(paymentBody, body);
  if (paidAt === undefined) return { ...payment, reference };
  const instant = parseInstant(paidAt);
  if (instant === undefined) throw badRequest([{ field: 'paidAt', message: 'must be a date-time with offset' }]);
  return { ...payment, reference, paidAt: instant };
}

/** Throws ClinicError 400. */
export function readPatient(body: unknown): PatientInput {
  const { firstName, lastName, phone = null, email = null, ...read } = parseBody(patientBody, body);
  return {
    firstName,
    lastName,
    phone,
    email,
    details: {
      taxCode: read.taxCode ?? null,
      birthDate: read.birthDate ?? null,
      birthPlace: read.birthPlace ?? null,
      gender: read.gender,
      mobilePhone: read.mobilePhone ?? null,
      address: read.address ?? null,
      vatNumber: read.vatNumber ?? null,
      notes: read.notes ?? null,
      externalId: read.externalId ?? null,
      consents: read.consents,
      isActive: read.isActive,
    },
  };
}
