import { clinicAddress } from '../../documents/document.ts';
import type { Language } from '../../messages/message.ts';
import { type AccessLevel, mayDo } from '../visitors.ts';
import type { OperationPage, PageContext } from './context.ts';
import { FRAME } from './texts/frame.ts';

/** A page that the frame leads to. */
interface NavigationEntry {
  path: string;
  name(language: Language): string;
  level: AccessLevel;
}

type FrameWord = keyof {
  [Key in keyof (typeof FRAME)['en'] as (typeof FRAME)['en'][Key] extends string ? Key : never]: true;
};

function entry(path: string, word: FrameWord, level: AccessLevel): NavigationEntry {
  return { path, name: (language) => FRAME[language][word], level };
}

function entryOf({ level, page: { path, names } }: OperationPage): NavigationEntry {
  return { path, name: (language) => names[language], level };
}

/** Where a clinic is added. */
export const ADD_CLINIC_PATH = '/add-clinic';

/** About all clinics. */
const SITE: readonly NavigationEntry[] = [
  entry('/', 'overview', 'viewer'),
  entry('/activity', 'activity', 'viewer'),
  entry('/queues', 'queues', 'owner'),
  entry(ADD_CLINIC_PATH, 'addClinic', 'owner'),
];

/** About one clinic: below its own address. */
const CLINIC: readonly NavigationEntry[] = [
  entry('', 'tenant', 'viewer'),
  entry('/plan', 'plan', 'viewer'),
  entry('/holds', 'holds', 'viewer'),
  entry('/explain', 'explain', 'viewer'),
  entry('/activity', 'activity', 'viewer'),
  entry('/configuration', 'configuration', 'owner'),
];

/** A link of the navigation. */
export interface NavigationLink {
  address: string;
  text: string;
  isHere: boolean;
}

/** Pages that the visitor may open. @returns those about all clinics, and those about the page's own, where it is about one */
export function navigationOf(context: PageContext): { site: NavigationLink[]; clinic: NavigationLink[] } {
  const { visitor, tenant, language, address, operationPages } = context;
  if (visitor === null) return { site: [], clinic: [] };
  const [here] = address.split('?');
  const linksOf = (entries: readonly NavigationEntry[], base: string) =>
    entries
      .filter(({ level }) => mayDo(visitor, level))
      .map(({ path, name }) => {
        const link = `${base}${path}`;
        return { address: link, text: name(language), isHere: link === here };
      });
  return {
    site: linksOf(SITE, ''),
    clinic: tenant === null ? [] : linksOf([...CLINIC, ...operationPages.map(entryOf)], clinicAddress(tenant.id)),
  };
}
