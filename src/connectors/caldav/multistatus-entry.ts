/** Entry of a thread that parses large answers of DAV. */
import { answerApart } from '../../http/apart-work.ts';
import { partsInThread } from './xml.ts';

answerApart(partsInThread);
