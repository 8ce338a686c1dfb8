/** Entry of a thread that parses large answers of DAV. */
import { answerApart } from '../../http/apart.ts';
import { partsInThread } from './xml.ts';

answerApart(partsInThread);
