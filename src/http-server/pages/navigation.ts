import { clinicAddress } from '../../documents/addresses.ts';
import { type AccessLevel, mayDo } from '../visitors.ts';
import type { PageContext } from './context.ts';
import { FRAME } from './texts/frame.ts';

/** A page that the frame leads to. */
export interface NavigationEntry {
  path: string;
  word: keyof { [Key in keyof (typeof FRAME)['en'] as (typeof FRAME)['en'][Key] extends string ? Key : never]: true };
  level: AccessLevel;
}

/** Where a clinic is added. */
export const ADD_CLINIC_PATH = '/add-clinic';

/** About all clinics. */
const SITE: readonly NavigationEntry[] = [
  { path: '/', word: 'overview', level: 'viewer' },
  { path: '/activity', word: 'activity', level: 'viewer' },
  { path: '/queues', word: 'queues', level: 'owner' },
  { path: ADD_CLINIC_PATH, word: 'addClinic', level: 'owner' },
];

/** About one clinic: below its own address. */
const CLINIC: readonly NavigationEntry[] = [
  { path: '', word: 'tenant', level: 'viewer' },
  { path: '/plan', word: 'plan', level: 'viewer' },
  { path: '/holds', word: 'holds', level: 'viewer' },
  { path: '/explain', word: 'explain', level: 'viewer' },
  { path: '/activity', word: 'activity', level: 'viewer' },
  { path: '/configuration', word: 'configuration', level: 'owner' },
];

/** A link of the navigation. */
export interface NavigationLink {
  address: string;
  text: string;
  isHere: boolean;
}

/** Pages that the visitor may open. @returns those about all clinics, and those about the page's own, where it is about one */
export function navigationOf(context: PageContext): { site: NavigationLink[]; clinic: NavigationLink[] } {
  const { visitor, tenant, language, address } = context;
  if (visitor === null) return { site: [], clinic: [] };
  const [here] = address.split('?');
  const linksOf = (entries: readonly NavigationEntry[], base: string) =>
    entries
      .filter(({ level }) => mayDo(visitor, level))
      .map(({ path, word }) => {
        const link = `${base}${path}`;
        return { address: link, text: FRAME[language][word], isHere: link === here };
      });
  return { site: linksOf(SITE, ''), clinic: tenant === null ? [] : linksOf(CLINIC, clinicAddress(tenant.id)) };
}
