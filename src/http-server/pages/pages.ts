import type { FastifyInstance } from 'fastify';
import { addForms } from '../forms.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import { addAssets } from './assets.ts';
import { addPreferences } from './preferences.ts';

/** Adds the pages for operators, and what they load. */
export function addPages(app: FastifyInstance, _desk: OperatorDesk): void {
  addForms(app);
  addAssets(app);
  addPreferences(app);
}
