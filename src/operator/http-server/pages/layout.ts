import type { FastifyReply } from 'fastify';
import type { AccessLevel } from '../../../core/model/acts.ts';
import { type Html, type HtmlPart, html } from '../../../core/model/html.ts';
import type { Instant } from '../../../core/model/time.ts';
import type { Language } from '../../../messages/message.ts';
import { clinicAddress } from '../../documents/document.ts';
import { mayDo, SESSIONS_PATH, SIGN_OUT_PATH, type Visitor } from '../operators.ts';
import { type AssetName, assetAddress } from './assets.ts';
import { type OperationPage, type PageContext, PREFERENCES_PATH } from './context.ts';
import { csrfField, hiddenFields } from './parts.ts';
import { FRAME } from './texts/frame.ts';

const ASK_AGAIN_SECONDS = 2;

/** Content of a page within the common frame. */
export interface Page {
  title: string;
  main: Html;
  /** Figures or buttons next to the heading. */
  headerPart?: HtmlPart;
  /** Time of the displayed data; default now. */
  asOf?: Instant;
  /** Live update: the main part is reloaded after a change (`live.ts`). */
  isLive?: boolean;
  /** Work in progress: the browser reloads the page every other second until the work ends. */
  isUnderWay?: boolean;
  /** Additional style sheet. */
  style?: AssetName;
  /** Event-stream id of the displayed data, if possibly older than the page. */
  seen?: string;
  /** Extra width for several panes. */
  isWide?: boolean;
}

export function sendPage(reply: FastifyReply, context: PageContext, page: Page, status = 200): FastifyReply {
  // The browser reloads without a script (https://html.spec.whatwg.org/multipage/document-lifecycle.html#the-refresh-header).
  if (page.isUnderWay === true) reply.header('refresh', String(ASK_AGAIN_SECONDS));
  return reply.code(status).type('text/html; charset=utf-8').send(framed(context, page).toString());
}

/** Renders a complete page with its frame. */
export function framed(context: PageContext, page: Page): Html {
  const { language, theme, tenant } = context;
  const words = FRAME[language];
  const title = tenant === null ? page.title : `${page.title} · ${tenant.name}`;
  return html`<!doctype html>
<html lang="${language}"${theme === null ? null : html` data-theme="${theme}"`}>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">
<title>${title} – clinic-mirror</title>
<link rel="icon" type="image/svg+xml" href="${assetAddress('icon.svg')}"><link rel="stylesheet" href="${assetAddress('pages.css')}">${page.style === undefined ? null : html`<link rel="stylesheet" href="${assetAddress(page.style)}">`}
<script defer src="${assetAddress('idiomorph.js')}"></script><script type="module" src="${assetAddress('pages.js')}"></script></head>
<body${page.isLive === true ? liveAttributes(context, page) : null}><a class="skip" href="#main">${words.skip}</a>
${bar(context)}
<main id="main" tabindex="-1"${page.isWide === true ? html` class="wide"` : null}>
<div class="head"><div>${crumb(context)}<h1>${page.title}</h1></div>${page.headerPart}</div>
${page.main}
${context.visitor === null ? null : foot(context, page)}
</main></body></html>
`;
}

function foot({ language, times }: PageContext, { asOf = times.now }: Page): Html {
  const words = FRAME[language];
  return html`<p class="foot">${words.timesIn(times.zone)} · ${words.asOf} ${times.at(asOf)}</p>`;
}

function liveAttributes({ tenant, language }: PageContext, { seen }: Page): Html {
  return html` data-live="${tenant?.id ?? ''}"${seen === undefined ? null : html` data-seen="${seen}"`} data-lost="${FRAME[language].lost}"`;
}

function bar(context: PageContext): Html {
  const { language, visitor } = context;
  const { site, clinic } = navigationOf(context);
  const words = FRAME[language];
  return html`<header class="bar"><a class="brand" href="/">clinic-mirror</a>${links(words.site, site)}${links(words.clinic, clinic)}${visitor === null ? null : html`<div class="beside">${preferences(context)}${whoLooks(context, visitor)}</div>`}</header>`;
}

function whoLooks({ language }: PageContext, visitor: Visitor): Html {
  return html`<form class="preferences" method="post" action="${SIGN_OUT_PATH}">${csrfField(visitor)}${visitor.signedInAt === undefined ? html`<span class="visitor">${visitor.name}</span>` : html`<a class="visitor" href="${SESSIONS_PATH}">${visitor.name}</a>`}<button>${FRAME[language].signOut}</button></form>`;
}

function links(label: string, entries: readonly NavigationLink[]): Html | null {
  if (entries.length === 0) return null;
  const items = entries.map(({ address, text, isHere }) => {
    return html`<li><a href="${address}"${isHere ? html` aria-current="page"` : null}>${text}</a></li>`;
  });
  return html`<nav aria-label="${label}"><ul>${items}</ul></nav>`;
}

function preferences({ language, theme, visitor, address }: PageContext): Html {
  const words = FRAME[language];
  const other = language === 'en' ? 'it' : 'en';
  const colours = (['light', 'dark'] as const).map((each) => {
    // A second click restores the browser's preference.
    const isChosen = theme === each;
    return html`<button name="theme" value="${isChosen ? '' : each}" aria-pressed="${isChosen ? 'true' : 'false'}">${words[each]}</button>`;
  });
  return html`<form class="preferences" method="post" action="${PREFERENCES_PATH}">${csrfField(visitor)}${hiddenFields({ back: address })}<span role="group" aria-label="${words.theme}">${colours}</span><button name="language" value="${other}" lang="${other}">${words.otherLanguage}</button></form>`;
}

function crumb({ tenant, address }: PageContext): Html | null {
  if (tenant === null || address.split('?')[0] === clinicAddress(tenant.id)) return null;
  return html`<p class="crumb"><a href="${clinicAddress(tenant.id)}">${tenant.name}</a></p>`;
}

/** A page in the navigation. */
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

export const ADD_CLINIC_PATH = '/add-clinic';

/** Pages about all clinics. */
const SITE: readonly NavigationEntry[] = [
  entry('/', 'overview', 'viewer'),
  entry('/activity', 'activity', 'viewer'),
  entry('/queues', 'queues', 'owner'),
  entry('/installation', 'installation', 'owner'),
  entry(ADD_CLINIC_PATH, 'addClinic', 'owner'),
];

/** Pages about one clinic, below the clinic's URL. */
const CLINIC: readonly NavigationEntry[] = [
  entry('', 'tenant', 'viewer'),
  entry('/plan', 'plan', 'viewer'),
  entry('/holds', 'holds', 'viewer'),
  entry('/explain', 'explain', 'viewer'),
  entry('/history', 'history', 'viewer'),
  entry('/activity', 'activity', 'viewer'),
  entry('/configuration', 'configuration', 'owner'),
];

interface NavigationLink {
  address: string;
  text: string;
  isHere: boolean;
}

/** Returns the pages that the visitor may open. @returns pages about all clinics, and pages about the current clinic, if any */
function navigationOf(context: PageContext): { site: NavigationLink[]; clinic: NavigationLink[] } {
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
