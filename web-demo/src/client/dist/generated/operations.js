export const StreamHead = "query StreamHead($sessionId:ID!){session(id:$sessionId){head}}";
export const CreateSession = "mutation CreateSession($input:CreateSessionInput!){createSession(input:$input){session{id title shared createdAt updatedAt head}errors{code message path}}}";
export const SendMessage = "mutation SendMessage($input:SendMessageInput!){sendMessage(input:$input){status message{id role speaker text kind status sentAt createdAt}errors{code message path}}}";
export const SessionEvents = "subscription SessionEvents($sessionId:ID!$after:String){sessionEvents(sessionId:$sessionId after:$after){seq cursor type createdAt data}}";
