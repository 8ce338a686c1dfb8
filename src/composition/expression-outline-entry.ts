/** Entry of a thread that parses mapping expressions for configuration checks. */
import { answerApart } from '../http/apart.ts';
import { plainOutline } from '../settings/crm-expressions.ts';

answerApart(function* (expression: string) {
  yield plainOutline(expression);
});
