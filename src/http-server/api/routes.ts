import { OPERATION_ROUTES } from './operation-routes.ts';
import type { Route } from './route.ts';
import { CONFIGURATION_ROUTES } from './routes/configuration.ts';
import { PEOPLE_ROUTES } from './routes/people.ts';

/** Every route of the API. */
export const ROUTES: readonly Route[] = [...CONFIGURATION_ROUTES, ...OPERATION_ROUTES, ...PEOPLE_ROUTES];
