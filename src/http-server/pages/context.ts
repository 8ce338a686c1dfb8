import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Language } from '../../messages/message.ts';
import type { Instant } from '../../model/time.ts';
import type { AnyOperation } from '../../operations/operation.ts';
import { cookieOf } from '../cookies.ts';
import { languageOf } from '../languages.ts';
import type { OperatorServices } from '../operator-desk.ts';
import { maySee, type Visitor, visitorOf } from '../visitors.ts';
import { type Times, timesIn, usualZone } from './times.ts';

/** Cookies that keep what a visitor chose; neither tells who they are. */
export const LANGUAGE_COOKIE = 'language';
export const THEME_COOKIE = 'theme';

/** Colours that a visitor may choose; without a choice the browser's. */
export type Theme = 'light' | 'dark';

/** What every page is made with. */
export interface PageContext {
  language: Language;
  theme: Theme | null;
  /** Null on pages for nobody in particular, such as the one to log in. */
  visitor: Visitor | null;
  /** Writes times in the clinic's zone, or in the one that most clinics of the visitor have. */
  times: Times;
  /** Path and query of the page: forms of the frame lead back to it. */
  address: string;
  /** The clinic that the page is about; null for pages about all. */
  tenant: { id: string; name: string } | null;
  /** Pages of a clinic that operations have. */
  operationPages: readonly OperationPage[];
}

/** The page of a clinic that shows the result of an operation. */
export type OperationPage = Pick<AnyOperation, 'level'> & Required<Pick<AnyOperation, 'page'>>;

declare module 'fastify' {
  interface FastifyInstance {
    /** Absent on ports without pages. */
    operationPages?: readonly OperationPage[];
  }
}

/** One request for a page, and what answers it. */
export interface PageVisit<Request extends FastifyRequest = FastifyRequest> {
  request: Request;
  reply: FastifyReply;
  desk: OperatorServices;
}

/** What a page is made with. @param tenant the one that the page is about; its zone is the page's */
export function contextOf(request: FastifyRequest, { installation }: OperatorServices, tenant?: string): PageContext {
  const visitor = visitorOf(request);
  const { outlines, clock } = installation;
  const outline = tenant === undefined ? undefined : outlines.get(tenant);
  const seen = [...outlines].filter(([id]) => maySee(visitor, id)).map(([, { zone }]) => zone);
  const language = chosenLanguage(request);
  return {
    ...{ language, visitor },
    theme: chosenTheme(request),
    times: timesIn(outline?.zone ?? usualZone(seen), language, clock()),
    address: request.url,
    tenant: tenant === undefined ? null : { id: tenant, name: outline?.name ?? tenant },
    operationPages: request.server.operationPages ?? [],
  };
}

/** What a page for nobody in particular is made with. */
export function strangerContext(request: FastifyRequest, now: Instant): PageContext {
  const language = chosenLanguage(request);
  const theme = chosenTheme(request);
  const times = timesIn('UTC', language, now);
  return { language, theme, visitor: null, times, address: request.url, tenant: null, operationPages: [] };
}

/** The language that a visitor chose, else the browser's first that there are pages in. */
function chosenLanguage(request: FastifyRequest): Language {
  const chosen = cookieOf(request, LANGUAGE_COOKIE);
  if (chosen === 'it' || chosen === 'en') return chosen;
  return languageOf(request.headers['accept-language'] ?? '', 'en');
}

/** The colours that a visitor chose; null for the browser's. */
function chosenTheme(request: FastifyRequest): Theme | null {
  const chosen = cookieOf(request, THEME_COOKIE);
  return chosen === 'light' || chosen === 'dark' ? chosen : null;
}
