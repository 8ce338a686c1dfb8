/** Entry of a thread that parses expressions of mappings for the checks of configurations. */
import { answerApart } from '../http/apart.ts';
import { plainOutline } from '../settings/crm-expressions.ts';

answerApart(function* (expression: string) {
  yield plainOutline(expression);
});
