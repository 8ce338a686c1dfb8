import { z } from 'zod';
import { invoice, issuer, priceList, section } from './billing.ts';
import { episode, medicalReport } from './care.ts';
import { choiceWords, fieldPaths, type Shape } from './fields.ts';
import { pagingSchema, parameter, path } from './paging.ts';
import { agenda, availability, location, treatment } from './places.ts';
import { appointment, patient } from './registry.ts';

/** The lists of the clinic API by their names in a profile. */
export const RESOURCES = {
  locations: location,
  agendas: agenda,
  treatments: treatment,
  patients: patient,
  appointments: appointment,
  availabilities: availability,
  priceLists: priceList,
  episodes: episode,
  medicalReports: medicalReport,
  invoices: invoice,
  sections: section,
  issuers: issuer,
} as const satisfies Record<string, Shape>;

/** Name of a list. */
export type ResourceName = keyof typeof RESOURCES;

/** Paths of the lists below a tenant's (specification section 2.1). */
export const RESOURCE_PATHS: Readonly<Record<ResourceName, readonly string[]>> = {
  locations: ['locations'],
  agendas: ['agendas'],
  treatments: ['treatments'],
  patients: ['patients'],
  appointments: ['appointments'],
  availabilities: ['availabilities'],
  priceLists: ['pricelists'],
  episodes: ['episodes'],
  medicalReports: ['medicalreports'],
  invoices: ['invoices'],
  sections: ['accounting', 'sections'],
  issuers: ['accounting', 'issuers'],
};

/** What a profile says of one list beside its fields. */
const listRules = {
  query: z
    .record(parameter, z.string())
    .default({})
    .describe('Parameters sent with every list call, such as one that includes cancelled rows.'),
  tenantId: z
    .array(path)
    .max(10)
    .default(['tenantId'])
    .describe(
      'Where a row names its tenant, if it does: one that names another is set aside. [] = not told, or not to be compared.',
    ),
  paging: pagingSchema.nullable().default(null).describe('Only where this list pages otherwise than the profile says.'),
};

/** What every list has in a profile: its fields, words, fixed parameters, and paging of its own. */
export function listProfile<Described extends Shape>(described: Described) {
  return { fields: fieldPaths(described), words: choiceWords(described), ...listRules };
}
