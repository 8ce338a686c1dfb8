import type { MappedProperty, Refusal, StreamName } from '../core/model/items.ts';
import type { ItemForm } from '../engine/identity.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { OpenCrm } from './cycle-input.ts';
import { createPatientHistory } from './derive.ts';
import { CALENDAR_FORM, crmForm } from './item-forms.ts';
import { compileMapping } from './mapping/compile.ts';
import { nothingTaken } from './stream-memory.ts';

/** A target's stream and the structure of its objects. */
export interface TargetForm {
  stream: StreamName;
  form: ItemForm;
  /** Null for a calendar. */
  crm: OpenCrm | null;
  /** CRM properties; empty for a calendar. */
  properties: readonly MappedProperty[];
}

/**
 * Prepares the conversion of a target's records to items.
 * @param zone the clinic's time zone
 * @param refusalsOf returns the CRM's properties with which people refuse contact
 */
export function openForm(
  { crm }: Pick<TargetConfiguration, 'crm'>,
  zone: string,
  refusalsOf: (stream: StreamName) => readonly Refusal[],
): TargetForm {
  if (crm === undefined) return { stream: 'appointments', form: CALENDAR_FORM, crm: null, properties: [] };
  const mapping = compileMapping(crm, zone);
  const { stream, derived } = crm;
  const { properties, needs } = mapping;
  const patientHistory = needs.history
    ? createPatientHistory({ ...derived, zone, countsInvoices: needs.invoices })
    : null;
  const form = crmForm(
    stream,
    properties.map(({ name }) => name),
  );
  const refusals = refusalsOf(stream).filter((refusal) => properties.some(({ name }) => name === refusal.property));
  return { stream, form, crm: { mapping, patientHistory, taken: nothingTaken(), refusals }, properties };
}
