import type { MappedProperty } from '../model/items.ts';
import type { Refusal } from '../model/refusals.ts';
import type { StreamName } from '../model/streams.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import { createPatientHistory } from '../sync/derive.ts';
import { CALENDAR_FORM, crmForm, type ItemForm } from '../sync/identity.ts';
import { compileMapping, type EvaluateExpressions } from '../sync/mapping/index.ts';
import { nothingTaken } from './stream-memory.ts';
import type { OpenCrm } from './tenant.ts';

/** What a target follows, and what its objects are made of. */
export interface TargetForm {
  stream: StreamName;
  form: ItemForm;
  /** Null for a calendar. */
  crm: OpenCrm | null;
  /** By name; none for a calendar. */
  properties: readonly MappedProperty[];
}

/**
 * Prepares what makes items of a target's records.
 * @param zone the clinic's
 * @param evaluate works out the expressions of mappings
 * @param refusalsOf the CRM's properties by which people refuse
 */
export function openForm(
  { crm }: Pick<TargetConfiguration, 'crm'>,
  zone: string,
  evaluate: EvaluateExpressions,
  refusalsOf: (stream: StreamName) => readonly Refusal[],
): TargetForm {
  if (crm === undefined) return { stream: 'appointments', form: CALENDAR_FORM, crm: null, properties: [] };
  const mapping = compileMapping(crm, zone, evaluate);
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
