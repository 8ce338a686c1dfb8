import { createAppointmentCalls } from './appointment-calls.ts';
import type { ClinicContext } from './context.ts';
import { createResourceCalls } from './resource-calls.ts';

/** The clinic API resource by resource (specification section 4), for what the daemon's own cycle doesn't need. */
export type ClinicApi = ReturnType<typeof createClinicApi>;

/** Opens the API of one clinic login. Scopes are those of specification section 2.1. */
export function createClinicApi(context: ClinicContext) {
  const reading = <Calls extends { list: unknown; read: unknown }>({
    list,
    read,
  }: Calls): Pick<Calls, 'list' | 'read'> => ({
    list,
    read,
  });
  const patients = createResourceCalls(context, 'patients');
  return {
    /** Scope `patients`. */
    patients: { ...reading(patients), create: patients.create, update: patients.update },
    /** Scope `agenda`. */
    agendas: reading(createResourceCalls(context, 'agendas')),
    /** Scope `agenda`. */
    appointments: createAppointmentCalls(context),
    /** Scope `treatments`. */
    treatments: reading(createResourceCalls(context, 'treatments')),
    /** Scope `episodes`. */
    episodes: createResourceCalls(context, 'episodes'),
    /** Any user with access to the tenant. */
    locations: reading(createResourceCalls(context, 'locations')),
  };
}
