import type { FastifyInstance } from 'fastify';
import { ownPath } from '../access/own-address.ts';
import { formOf } from '../forms.ts';
import { LANGUAGE_COOKIE, THEME_COOKIE } from './context.ts';

/** Takes what a visitor chooses of language and colours. */
export const PREFERENCES_PATH = '/preferences';
const COOKIE_SECONDS = 365 * 24 * 3_600;
/** What may be chosen; nothing is the browser's choice again. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  [LANGUAGE_COOKIE]: ['it', 'en'],
  [THEME_COOKIE]: ['light', 'dark', ''],
};

/** Adds the switches of language and colours: cookies, and the way back to the page. */
export function addPreferences(app: FastifyInstance): void {
  app.post(PREFERENCES_PATH, { config: { level: 'viewer' } }, async (request, reply) => {
    const form = formOf(request);
    for (const [name, values] of Object.entries(CHOICES)) {
      const chosen = form.get(name);
      if (chosen !== null && values.includes(chosen)) reply.header('set-cookie', cookie(name, chosen));
    }
    return reply.redirect(ownPath(form.get('back')), 303);
  });
}

function cookie(name: string, value: string): string {
  const life = value === '' ? 0 : COOKIE_SECONDS;
  return `${name}=${value}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Lax`;
}
