import type { FastifyInstance } from 'fastify';
import { openOverview } from '../../control/overview.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import { addActivityPages } from './activity.ts';
import { addAssets } from './assets.ts';
import { addConnectionPage } from './clinic/connection.ts';
import { addClinicPage } from './clinic/page.ts';
import { addTargetPage } from './clinic/target.ts';
import { addUndoPage } from './clinic/undo.ts';
import { addConfigurationPages } from './configuration/page.ts';
import { showErrors } from './errors.ts';
import { addExplainPage } from './explain/explain-page.ts';
import { addHoldPages } from './holds/hold-page.ts';
import { addLive } from './live.ts';
import { addOperationPages } from './operation-pages.ts';
import { addOverviewPage } from './overview.ts';
import { addPlanPage } from './plan/plan-page.ts';
import { addPreferences } from './preferences.ts';
import { addRetry } from './problems.ts';
import { addQueuesPage } from './queues.ts';
import { showRefusals } from './refusals.ts';
import { addWeekPage } from './week/week-page.ts';

/** Adds the pages for operators, and what they load. */
export function addPages(app: FastifyInstance, desk: OperatorDesk): void {
  addAssets(app);
  showRefusals(app, desk.installation.clock);
  // Of their own, so that what fails in a page is told by a page.
  app.register((pages, _options, done) => {
    showErrors(pages, desk);
    const overview = openOverview(desk.installation, desk.statuses);
    addPreferences(pages);
    addLive(pages, desk, overview);
    addOverviewPage(pages, desk, overview);
    addRetry(pages, desk);
    addActivityPages(pages, desk);
    addClinicPage(pages, desk);
    addTargetPage(pages, desk);
    addConnectionPage(pages, desk);
    addUndoPage(pages, desk);
    addExplainPage(pages, desk);
    addHoldPages(pages, desk);
    addConfigurationPages(pages, desk);
    addPlanPage(pages, desk);
    addWeekPage(pages, desk);
    addOperationPages(pages, desk);
    addQueuesPage(pages, desk);
    done();
  });
}
