use super::Authenticator;
use super::password::verified;
use crate::access::principal::Verified;
use crate::access::realm::Freshness;
use crate::access::refusal::Failure;
use crate::access::request::RequestHead;
use crate::access::tickets::Holder;

impl Authenticator {
    /// Who a ticket was made for, as they are now: a user who is gone, or has another password, has
    /// no ticket either.
    pub(super) async fn ticket(
        &self,
        ticket: &str,
        head: &RequestHead,
    ) -> Result<Verified, Failure> {
        let now = head.received();
        match self.tickets.verify(ticket, head.path(), now).ok_or(Failure::Invalid)? {
            Holder::Token(verified) => match verified.expires_at.is_some_and(|end| end <= now) {
                true => Err(Failure::Expired),
                false => Ok(verified),
            },
            Holder::Anybody => Err(Failure::Expired),
            Holder::Key { hash } => self.key_by_hash(&hash, Freshness::Remembered, now).await,
            Holder::User { id, proof } => {
                let users = self.realms.users.as_ref().ok_or(Failure::Invalid)?;
                let user = users.find(&id, Freshness::Remembered).await;
                let user = user.map_err(|_| Failure::Unavailable)?.ok_or(Failure::Invalid)?;
                match self.tickets.is_proof(&proof, &user.password.fingerprint()) {
                    true => Ok(verified(&id, &user)),
                    false => Err(Failure::Invalid),
                }
            }
        }
    }
}
