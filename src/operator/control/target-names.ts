import { z } from 'zod';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';

/** Largest number of doctors in one name; the others are counted. */
const MOST_DOCTORS = 2;

/** Names of a target for readers. */
export interface TargetNames {
  /** Name in sentences and lists: doctors or id, with the vendor. Unique in its clinic. */
  name: string;
  /** Names of the agendas, joined and cut; null if no agenda was read yet, and for contacts and deals of a CRM. */
  doctors: string | null;
  /** Configured name of the calendar; null for a calendar with an id only, and for a CRM. */
  calendar: string | null;
  vendor: string;
}

/** Members of a tenant that names are made from. */
export interface NamedTenant {
  clinic: Pick<ClinicSource, 'cachedAgendas'>;
  targets: ReadonlyMap<string, Pick<OpenTarget, 'id' | 'stream' | 'vendor'> & Configured>;
}

/** Parts of a target's configuration that name it. */
interface Configured {
  configuration: { agendas: 'all' | readonly string[]; settings: unknown };
}

/** Returns the names of all targets of a tenant by id, from the agendas as last read. Requests nothing. */
export function targetNamesOf({ clinic, targets }: NamedTenant): ReadonlyMap<string, TargetNames> {
  const agendas = clinic.cachedAgendas();
  const names = [...targets.values()].map(({ id, stream, vendor, configuration }) => {
    const doctors = stream === 'appointments' ? doctorsOf(configuration, agendas) : null;
    return {
      id,
      doctors,
      calendar: configuredCalendarOf(configuration).name,
      vendor,
      name: `${doctors ?? id} (${vendor})`,
    };
  });
  const counts = Map.groupBy(names, ({ name }) => name);
  return new Map(
    names.map(({ id, name, ...others }) => {
      const isUnique = counts.get(name)?.length === 1 || others.doctors === null;
      return [id, { ...others, name: isUnique ? name : `${others.doctors} (${others.vendor}, ${id})` }];
    }),
  );
}

/** Returns the name of an agenda as last read; an unread agenda keeps its id. */
export function agendaNameOf({ clinic }: Pick<NamedTenant, 'clinic'>, agenda: string): string {
  return clinic.cachedAgendas().find(({ id }) => id === agenda)?.name || agenda;
}

/** Settings that identify a calendar: a name by clinic-mirror or of a feed, or an id. */
const calendarSettings = z.object({
  name: z.string().optional().catch(undefined),
  calendar: z
    .union([
      z.object({ create: z.string() }).transform(({ create }) => ({ name: create })),
      z.object({ id: z.string() }),
      z.string().transform((id) => ({ id })),
    ])
    .optional()
    .catch(undefined),
});

/** Returns the configured name or id of a calendar; both are null for a CRM, and for a calendar configured by URL. */
export function configuredCalendarOf({ settings }: Pick<Configured['configuration'], 'settings'>): {
  name: string | null;
  id: string | null;
} {
  const { name, calendar } = calendarSettings.safeParse(settings).data ?? {};
  return { id: null, name: name ?? null, ...calendar };
}

function doctorsOf({ agendas }: Configured['configuration'], listed: NamedAgendas): string | null {
  const names = new Map(listed.map(({ id, name }) => [id, name] as const));
  const wanted = agendas === 'all' ? listed.filter(({ isActive }) => isActive).map(({ id }) => id) : agendas;
  if (!wanted.some((id) => names.get(id))) return null;
  const all = wanted.map((id) => names.get(id) || id);
  const rest = all.length - MOST_DOCTORS;
  return rest <= 0 ? all.join(', ') : `${all.slice(0, MOST_DOCTORS).join(', ')} +${rest}`;
}

type NamedAgendas = ReturnType<ClinicSource['cachedAgendas']>;
