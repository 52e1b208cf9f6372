//! A server that hangs up in the middle of a call.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use lockless_servers::Standalone;

use crate::support::load;

/// A server that accepts what a client says when it connects, and hangs up on FCALL.
pub(crate) fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || hang_up_on_fcall(stream));
        }
    });
    port
}

fn hang_up_on_fcall(mut client: TcpStream) {
    let server = Standalone::builder().private().start().unwrap();
    load(&server.url(), lockless_functions::LIBRARY);
    let mut upstream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let (mut from, mut to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
    });
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..count]).to_lowercase();
        if text.contains("lockless_dispatch") {
            break;
        }
        if upstream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = upstream.shutdown(std::net::Shutdown::Both);
}
