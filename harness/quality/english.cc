#include "harness/quality/english.h"

namespace capbench::quality {

std::string_view english() {
  return R"(The harbour woke slowly that morning. A thin fog lay over the water, and the boats that had come in during the night were no more than grey shapes with a lamp or two between them. Marta walked along the stone wall with her hands in her coat pockets and counted them, as she had done every day since she was a child. There were eleven. There should have been twelve.

She stopped at the steps where the fishermen landed their baskets and asked the old man who mended nets whether he had seen the Heron come in. He shook his head without looking up. The Heron, he said, had gone out past the lighthouse on Tuesday, and her captain was not a man who hurried home because of a little wind. He would be back when the hold was full, or when the bread was gone, whichever came first.

Marta thanked him and went on to the office at the end of the pier. It was a small room with one window, two desks and a stove that smoked when the wind came from the west. On the wall hung a map of the coast, drawn by somebody who had loved the work: every rock was there, every sandbank, and beside each of them, in neat brown ink, the depth of the water at low tide. Her father had used that map for thirty years, and his pencil marks were still on it, small crosses where nets had been lost.

She lit the stove, put the kettle on, and opened the large book in which the arrivals were written down. The first entries of the year were in another hand. In January the harbour had been closed for nine days by ice, which nobody could remember having happened before, and the letters of that week were large and uneven, as if the ink had been close to freezing too. After that came the usual list of names, weights and prices: herring, cod, a few crates of crab, and once, in March, a note about a seal that had followed a boat all the way to the steps and would not leave until it was fed.

At eight o'clock the telephone rang. It was the keeper of the lighthouse, a quiet woman who called only when there was something to say. The fog was lifting on her side, she reported, and she could see a boat about four miles out, moving very slowly, with no sail set and no smoke. It might be the Heron. It might also be the mail boat, which had been having trouble with its engine. She would watch it and call again in half an hour.

Marta wrote the time and the message in the book. Then she did what her father would have done: she took the long glass from its hook, climbed the ladder to the roof and looked for herself. The sun had begun to show as a pale disc above the hills, and the fog was breaking into long white strips. Between two of them she saw the line of the horizon, and on it a dark speck that did not seem to move at all. She watched until her eyes hurt. When she came down again the kettle was boiling, and the old man from the steps was standing in the doorway with his cap in his hands.

"I have been thinking," he said. "If it is the Heron, and her engine has failed, she will drift north with the tide until noon. After that she will drift back, but closer to the rocks. Somebody ought to go out and bring her in before the tide turns. My nephew has a good boat and nothing to do."

It was a sensible plan, and like most sensible plans it needed only three things: fuel, a long rope and somebody who would pay for both. Marta had the key to the fuel store. The rope they borrowed from the ferry, whose captain asked no questions. As for the money, she decided that the harbour would pay now and that the owner of the Heron would pay later, and she wrote that in the book as well, so that there could be no argument about it in the spring.

The nephew's boat left at twenty minutes to nine. By then half the town had heard the story, and there was a small crowd on the pier, talking in low voices and stamping their feet against the cold. Children who should have been in school sat in a row on the wall. The baker came with a basket of rolls, partly out of kindness and partly because a crowd that waits is a crowd that eats. Nobody spoke of what might have gone wrong. They spoke of other mornings, other boats, and of the great storm before the war, when the sea had come over the wall and carried a piano down the main street.

At ten the telephone rang again. The keeper of the lighthouse could see two boats now, she said, one ahead of the other, and a line between them that shone when it came out of the water. They were making about three knots. With the tide as it was they would be at the harbour mouth a little before noon. She paused, and Marta could hear the wind in the wires. Then she added that there were four people standing on the deck of the second boat, and that all of them were waving.

Marta went out to the crowd and told them. There was no cheering; it was not that kind of town. But the old man sat down on an upturned basket, took out his needle and began to mend a net, and his hands, which had been still since the morning, were quick and certain again. The baker gave away the last of his rolls. One by one the children remembered that it was a school day after all, and went up the hill, looking back at every corner.

When the Heron was safely tied to the wall, at seven minutes past twelve, Marta opened the book once more. She wrote down the name of the boat, the hour, the weight of the catch, which was not large, and the reason for the delay, which was a broken pump. In the column for remarks she hesitated. There was room for a single line. In the end she wrote what her father had always written on such days, because it was true and because it left nothing out: all hands home.
)";
}

}  // namespace capbench::quality
