import type { WrittenDescription } from '../description.ts';
import { dolibarr } from './dolibarr.ts';
import { espocrm } from './espocrm.ts';
import { twenty } from './twenty.ts';
import { zohoLike } from './zoho-like.ts';

/** Descriptions that come with the program, by the name that a target's settings give. The schema checks them like anybody's. */
export const profiles: Readonly<Record<string, WrittenDescription>> = {
  dolibarr,
  espocrm,
  twenty,
  'zoho-like': zohoLike,
};
