import type { Item } from '../core/model/items.ts';
import { caldav } from './caldav/index.ts';
import type { ConnectorModule } from './connector.ts';
import { feed } from './feed/index.ts';
import { googleCalendar } from './google-calendar/index.ts';
import { hubspot } from './hubspot/index.ts';
import { outlookCalendar } from './outlook-calendar/index.ts';
import { restCrm } from './rest-crm/index.ts';
import { salesforce } from './salesforce/index.ts';

const modules: readonly ConnectorModule<unknown, Item>[] = [
  caldav,
  feed,
  googleCalendar,
  hubspot,
  outlookCalendar,
  restCrm,
  salesforce,
];

/** Connectors by name in the tenant file, equal to the folder. A test compares names and folders. */
export const connectors: ReadonlyMap<string, ConnectorModule<unknown, Item>> = new Map(
  modules.map((module) => [module.name, module]),
);
